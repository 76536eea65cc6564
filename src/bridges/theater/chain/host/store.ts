import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";
import { bytes, count, field, flag, items, text } from "../values.ts";
import type { HostCall, HostInterface, HostCallEvents } from "./told.ts";

const contentRef = (value: WitValue): Printable => ({ hash: text(field(value, "hash")) });
const contentRefOrNull = (value: WitValue): Printable => (value === undefined ? null : contentRef(value));

type Fields = Readonly<Record<string, Printable>>;

/** A call whose two cases hold the store's id and its parameters. */
const storeFunction =
  (
    name: string,
    operation: string,
    callFields: (args: readonly WitValue[]) => Fields,
    resultFields: (ok: WitValue, callFields: Fields) => Fields = (_, fields) => fields,
  ) =>
  ({ args: [store, ...rest], ok, error }: HostCall): HostCallEvents => {
    const fields: Fields = { store_id: text(store), ...callFields(rest) };
    return {
      family: "Store",
      called: { [`${name}Call`]: fields },
      returned: { [`${name}Result`]: { ...resultFields(ok, fields), success: true } },
      failed: { Error: { operation, message: error } },
    };
  };

const storeField = ({ store_id }: Fields): Fields => ({ store_id: store_id ?? "" });
const labelFields = ({ store_id, label }: Fields): Fields => ({ store_id: store_id ?? "", label: label ?? "" });

export const STORE: HostInterface = {
  new: ({ ok, error }) => ({
    family: "Store",
    called: { NewStoreCall: {} },
    returned: { NewStoreResult: { store_id: text(ok), success: true } },
    failed: { Error: { operation: "new", message: error } },
  }),
  store: storeFunction(
    "Store",
    "store",
    ([content]) => ({ content: bytes(content) }),
    (ok, fields) => ({ ...storeField(fields), content_ref: contentRef(ok) }),
  ),
  get: storeFunction(
    "Get",
    "get",
    ([content]) => ({ content_ref: contentRef(content) }),
    (ok, fields) => ({ ...fields, content: bytes(ok) }),
  ),
  exists: storeFunction(
    "Exists",
    "exists",
    ([content]) => ({ content_ref: contentRef(content) }),
    (ok, fields) => ({ ...fields, exists: flag(ok) }),
  ),
  label: storeFunction("Label", "label", ([label, content]) => ({ label: text(label), content_ref: contentRef(content) })),
  "get-by-label": storeFunction(
    "GetByLabel",
    "get-by-label",
    ([label]) => ({ label: text(label) }),
    (ok, fields) => ({ ...fields, content_ref: contentRefOrNull(ok) }),
  ),
  "remove-label": storeFunction("RemoveLabel", "remove-label", ([label]) => ({ label: text(label) })),
  "remove-from-label": storeFunction("RemoveLabel", "remove-from-label", ([label]) => ({ label: text(label) })),
  "store-at-label": storeFunction(
    "StoreAtLabel",
    "store-at-label",
    ([label, content]) => ({ label: text(label), content: bytes(content) }),
    (ok, fields) => ({ ...labelFields(fields), content_ref: contentRef(ok) }),
  ),
  "replace-content-at-label": storeFunction(
    "ReplaceContentAtLabel",
    "replace-content-at-label",
    ([label, content]) => ({ label: text(label), content: bytes(content) }),
    (ok, fields) => ({ ...labelFields(fields), content_ref: contentRef(ok) }),
  ),
  "replace-at-label": storeFunction("ReplaceAtLabel", "replace-at-label", ([label, content]) => ({ label: text(label), content_ref: contentRef(content) })),
  "list-labels": storeFunction(
    "ListLabels",
    "list-labels",
    () => ({}),
    (ok, fields) => ({ ...fields, labels: items(ok).map(text) }),
  ),
  "list-all-content": storeFunction(
    "ListAllContent",
    "list-all-content",
    () => ({}),
    (ok, fields) => ({ ...fields, content_refs: items(ok).map(contentRef) }),
  ),
  "calculate-total-size": storeFunction(
    "CalculateTotalSize",
    "calculate-total-size",
    () => ({}),
    (ok, fields) => ({ ...fields, size: count(ok) }),
  ),
};
