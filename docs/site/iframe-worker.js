// Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search in pages that are read from the disk. Browsers start no workers for them, so the script of
// the search runs in a hidden frame, which has what a worker has.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><body></body>");
      inner.document.close();
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = inner.document.createElement("script");
          script.onload = resolve;
          script.onerror = reject;
          script.src = source;
          inner.document.body.append(script);
        });
      inner.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = async (...sources) => {
        for (const source of sources) await load(source);
      };
      this.loaded = load(url);
    }

    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.loaded.then(() =>
        inner.dispatchEvent(new inner.MessageEvent("message", { data })),
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
}
