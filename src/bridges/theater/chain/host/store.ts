import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";
import { bytes, count, field, flag, items, text } from "../values.ts";
import type { Call, Family, Told } from "./told.ts";

const ref = (value: WitValue): Printable => ({ hash: text(field(value, "hash")) });
const someRef = (value: WitValue): Printable => (value === undefined ? null : ref(value));

type Parts = Readonly<Record<string, Printable>>;

/** A call whose two cases hold the store's id and its parameters. */
const told =
  (
    name: string,
    operation: string,
    asked: (args: readonly WitValue[]) => Parts,
    gave: (ok: WitValue, asked: Parts) => Parts = (_, parts) => parts,
  ) =>
  ({ args: [store, ...rest], ok, error }: Call): Told => {
    const parts: Parts = { store_id: text(store), ...asked(rest) };
    return {
      family: "Store",
      called: { [`${name}Call`]: parts },
      gave: { [`${name}Result`]: { ...gave(ok, parts), success: true } },
      failed: { Error: { operation, message: error } },
    };
  };

const storeOf = ({ store_id }: Parts): Parts => ({ store_id: store_id ?? "" });
const labelOf = ({ store_id, label }: Parts): Parts => ({ store_id: store_id ?? "", label: label ?? "" });

export const STORE: Family = {
  new: ({ ok, error }) => ({
    family: "Store",
    called: { NewStoreCall: {} },
    gave: { NewStoreResult: { store_id: text(ok), success: true } },
    failed: { Error: { operation: "new", message: error } },
  }),
  store: told(
    "Store",
    "store",
    ([content]) => ({ content: bytes(content) }),
    (ok, parts) => ({ ...storeOf(parts), content_ref: ref(ok) }),
  ),
  get: told(
    "Get",
    "get",
    ([content]) => ({ content_ref: ref(content) }),
    (ok, parts) => ({ ...parts, content: bytes(ok) }),
  ),
  exists: told(
    "Exists",
    "exists",
    ([content]) => ({ content_ref: ref(content) }),
    (ok, parts) => ({ ...parts, exists: flag(ok) }),
  ),
  label: told("Label", "label", ([label, content]) => ({ label: text(label), content_ref: ref(content) })),
  "get-by-label": told(
    "GetByLabel",
    "get-by-label",
    ([label]) => ({ label: text(label) }),
    (ok, parts) => ({ ...parts, content_ref: someRef(ok) }),
  ),
  "remove-label": told("RemoveLabel", "remove-label", ([label]) => ({ label: text(label) })),
  "remove-from-label": told("RemoveLabel", "remove-from-label", ([label]) => ({ label: text(label) })),
  "store-at-label": told(
    "StoreAtLabel",
    "store-at-label",
    ([label, content]) => ({ label: text(label), content: bytes(content) }),
    (ok, parts) => ({ ...labelOf(parts), content_ref: ref(ok) }),
  ),
  "replace-content-at-label": told(
    "ReplaceContentAtLabel",
    "replace-content-at-label",
    ([label, content]) => ({ label: text(label), content: bytes(content) }),
    (ok, parts) => ({ ...labelOf(parts), content_ref: ref(ok) }),
  ),
  "replace-at-label": told("ReplaceAtLabel", "replace-at-label", ([label, content]) => ({ label: text(label), content_ref: ref(content) })),
  "list-labels": told(
    "ListLabels",
    "list-labels",
    () => ({}),
    (ok, parts) => ({ ...parts, labels: items(ok).map(text) }),
  ),
  "list-all-content": told(
    "ListAllContent",
    "list-all-content",
    () => ({}),
    (ok, parts) => ({ ...parts, content_refs: items(ok).map(ref) }),
  ),
  "calculate-total-size": told(
    "CalculateTotalSize",
    "calculate-total-size",
    () => ({}),
    (ok, parts) => ({ ...parts, size: count(ok) }),
  ),
};
