//===- RelaxAttributes.td - Dimension expressions -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_ATTRIBUTES
#define RELAX_ATTRIBUTES

include "RelaxDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Relax_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Relax_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Relax_PrimExprAttr : Relax_Attr<"PrimExpr", "expr"> {
  let summary = "an integer expression over shape variables (GR01)";
  let description = [{
    The specification's PrimExpr: what a dimension of a shape is. Expressions
    are built in a canonical form, a polynomial over variables and the other
    operations, so that equal expressions are most often the same attribute:
    `n * m` and `m * n`, or `2 * (n + 1)` and `n * 2 + 2`.

    Division is floor division, as in the specification. Operations: `+`, `-`,
    `*`, `floordiv`, `mod`, and `min(a, b)`, `max(a, b)`, `select(c, a, b)`,
    `not(a)`, `and(a, b)`, `or(a, b)`, `eq(a, b)`, `lt(a, b)`, `le(a, b)`.

    Expressions are nested at most 128 deep, with at most 4096 nodes when they
    are written out. What would be larger is refused where a user writes it, and
    is not known where it is derived.

    Example:

    ```mlir
    #relax.expr<n * 4 + min(m, 16)>
    ```
  }];
  let parameters = (ins
    "PrimExprKind":$kind,
    "int64_t":$value,
    StringRefParameter<"name of a variable">:$name,
    ArrayRefParameter<"PrimExprAttr", "operands">:$operands,
    "uint32_t":$depth,
    "uint32_t":$size);
  let skipDefaultBuilders = 1;
  let builders = [
    AttrBuilder<(ins "PrimExprKind":$kind, "int64_t":$value, "StringRef":$name,
                     "ArrayRef<PrimExprAttr>":$operands), [{
      uint32_t depth = 0;
      uint64_t size = 1;
      for (PrimExprAttr operand : operands) {
        depth = std::max(depth, operand.getDepth());
        size += operand.getSize();
      }
      return $_get($_ctxt, kind, value, name, operands, depth + 1,
                   static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX)));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    // `get` makes a node as it is; build expressions with the functions below.
    // `getDepth` is the nesting, 1 for a leaf. `getSize` is the number of nodes
    // of the tree, where parts that are shared count each time; it saturates.

    static constexpr uint32_t kMaxDepth = 128;
    static constexpr uint32_t kMaxSize = 4096;
    /// Whether the expression is beyond these limits. It can be built and
    /// compared, and nothing is found out about it. The text form, the C
    /// interface and StructInfo do not let it in.
    bool isTooLarge() const {
      return getDepth() > kMaxDepth || getSize() > kMaxSize;
    }

    /// Leaves.
    static PrimExprAttr getVar(MLIRContext *context, StringRef name);
    static PrimExprAttr getInt(MLIRContext *context, int64_t value);

    /// Operations, in canonical form. Where folding would overflow 64 bits the
    /// expression is kept as written.
    static PrimExprAttr getAdd(PrimExprAttr lhs, PrimExprAttr rhs);
    static PrimExprAttr getSub(PrimExprAttr lhs, PrimExprAttr rhs);
    static PrimExprAttr getMul(PrimExprAttr lhs, PrimExprAttr rhs);
    static PrimExprAttr getFloorDiv(PrimExprAttr lhs, PrimExprAttr rhs);
    static PrimExprAttr getMod(PrimExprAttr lhs, PrimExprAttr rhs);
    /// The other kinds by name: Min, Max, Select, Not, And, Or, Eq, Lt, Le.
    static PrimExprAttr getCall(PrimExprKind kind,
                                ArrayRef<PrimExprAttr> operands);

    bool isVar() const { return getKind() == PrimExprKind::Var; }
    /// The value of a constant expression.
    std::optional<int64_t> getConstant() const;
    /// The product of all `dims`; 1 for none.
    static PrimExprAttr getProduct(MLIRContext *context,
                                   ArrayRef<PrimExprAttr> dims);

    /// The expression as text, "n * 4 + 1".
    std::string str() const;
  }];
}

def Relax_ShapeExprAttr : Relax_Attr<"ShapeExpr", "shape"> {
  let summary = "a list of dimensions (GR12)";
  let description = [{
    Example:

    ```mlir
    #relax.shape<[n, m * 4, 16]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"PrimExprAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    size_t size() const { return getDims().size(); }
    PrimExprAttr operator[](size_t index) const { return getDims()[index]; }
    auto begin() const { return getDims().begin(); }
    auto end() const { return getDims().end(); }
    /// Whether a dimension is beyond the limits of an expression.
    bool isTooLarge() const {
      return llvm::any_of(getDims(), [](PrimExprAttr dim) {
        return dim.isTooLarge();
      });
    }
  }];
}

def Relax_VDeviceAttr : Relax_Attr<"VDevice", "vdevice"> {
  let summary = "a virtual device (GR03)";
  let description = [{
    What a name such as `@cuda0` in a tensor type stands for. `target` is the tag
    or the configuration of a target, empty for the null target; `dev_id` counts
    the devices of a target; `mem_scope` names the kind of memory. The attribute
    `relax.global_info` of the module lists the devices by name.

    Example:

    ```mlir
    module attributes {relax.global_info = {
      cpu0 = #relax.vdevice<"llvm", 0>,
      cuda1 = #relax.vdevice<"cuda", 1, "global">
    }} {}
    ```
  }];
  let parameters = (ins
    StringRefParameter<"tag or configuration of a target">:$target,
    "int64_t":$dev_id,
    StringRefParameter<"kind of memory", "\"global\"">:$mem_scope);
  let assemblyFormat = "`<` $target `,` $dev_id (`,` $mem_scope^)? `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Distributed tensors
//===----------------------------------------------------------------------===//

def Relax_DeviceMeshAttr : Relax_Attr<"DeviceMesh", "device_mesh"> {
  let summary = "devices in an n-dimensional arrangement";
  let description = [{
    `shape` are the extents of the arrangement, and `device_ids` the devices in
    it, in row-major order: the numbers of workers of a session.

    The attribute `relax.device_meshes` of the module lists meshes by name and
    position.

    **Constraints:** extents are 1 or more; their product is the number of
    devices, which are distinct and 0 or more.

    Example:

    ```mlir
    module attributes {relax.device_meshes = {
      mesh = [#relax.device_mesh<[2, 2], [0, 1, 2, 3]>, #relax.device_mesh<[1], [4]>]
    }} {}
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "extents">:$shape,
    ArrayRefParameter<"int64_t", "devices, in row-major order">:$device_ids);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Relax_PlacementAttr : Relax_Attr<"Placement", "placement"> {
  let summary = "how a tensor lies on a mesh of devices";
  let description = [{
    For each dimension of the mesh: `S[axis]` where the tensor is cut along an
    axis into equal parts, one for each device of that dimension, or `R` where
    each of them has it all.

    **Constraints:** axes are 0 or more.

    Example: `#relax.placement<[S[0], R]>`
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "axes, -1 for a replica">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kReplica = -1;
    /// "S[0], R".
    std::string str() const;
  }];
}

def Relax_ShardingAttr : Relax_Attr<"Sharding", "sharding"> {
  let summary = "the mesh and the placement of a distributed tensor";
  let description = [{
    **Constraints:** the placement has an entry for each dimension of the mesh.

    Example: `#relax.sharding<[S[0], R] on <[2, 2], [0, 1, 2, 3]>>`
  }];
  let parameters = (ins "DeviceMeshAttr":$mesh, "PlacementAttr":$placement);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The dimension of the mesh along which an axis is cut; none where it is
    /// not. The first one where there are several.
    std::optional<unsigned> getMeshDim(int64_t axis) const;
    /// Into how many parts an axis is cut; 1 where it is not.
    int64_t getNumParts(int64_t axis) const;
    bool isReplicated() const;
  }];
}

#endif // RELAX_ATTRIBUTES
