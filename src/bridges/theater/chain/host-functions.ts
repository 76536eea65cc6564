// Owns: the tables of Theater's host functions and the event data of each call. Does not own: the events made of them (actor-events.ts).
import type { WitValue } from "../../wasm/index.ts";
import type { Printable } from "../wire/wire-json.ts";
import { bytesOf, bytesOrNull, numberOf, fieldOf, booleanOf, itemsOf, textOf } from "./recorded-values.ts";

/** What Theater records of one host call: that it was made, and its result. The contents are cases of the family's enum. */
export interface HostCallEvents {
  readonly family: "Environment" | "Filesystem" | "Http" | "Message" | "Random" | "Runtime" | "Store" | "Supervisor" | "Timing";
  /** Absent if a single event records the call and its result. */
  readonly called?: Printable;
  /** For the `ok` of a result. Absent if the result is not recorded. */
  readonly returned?: Printable;
  /** For the `err` of a result. */
  readonly failed?: Printable;
}

interface HostCall {
  readonly args: readonly WitValue[];
  /** What the guest received: the `ok` of a result, else the value itself. */
  readonly ok: WitValue;
  /** The `err` of a result. */
  readonly error: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** By the import's function name. */
type HostInterface = Readonly<Record<string, (call: HostCall) => HostCallEvents>>;

const RUNTIME_FAMILY = "Runtime";

const RUNTIME: HostInterface = {
  log: ({ args: [message] }) => ({ family: RUNTIME_FAMILY, called: { Log: { level: "info", message: textOf(message) } } }),
  "get-state": () => ({
    family: RUNTIME_FAMILY,
    called: { StateChangeCall: { old_state: "unknown", new_state: "requested" } },
    returned: { StateChangeResult: { success: true } },
  }),
  // Theater declares this function but never offered it to guests, and has no event for it.
  "get-chain": () => ({ family: RUNTIME_FAMILY, called: { Log: { level: "debug", message: "get-chain" } } }),
  shutdown: ({ args: [data] }) => ({
    family: RUNTIME_FAMILY,
    called: { ShutdownCall: { data: bytesOrNull(data) } },
    returned: { ShutdownRequested: { success: true } },
    failed: { ShutdownRequested: { success: false } },
  }),
};

const TIMING: HostInterface = {
  now: ({ ok }) => ({ family: "Timing", called: { NowCall: {} }, returned: { NowResult: { timestamp: numberOf(ok) } } }),
  sleep: ({ args: [duration], error }) => ({
    family: "Timing",
    called: { SleepCall: { duration: numberOf(duration) } },
    returned: { SleepResult: { duration: numberOf(duration), success: true } },
    failed: { Error: { operation: "sleep", message: error } },
  }),
  deadline: ({ args: [timestamp], error }) => ({
    family: "Timing",
    called: { DeadlineCall: { timestamp: numberOf(timestamp) } },
    returned: { DeadlineResult: { timestamp: numberOf(timestamp), success: true } },
    failed: { Error: { operation: "deadline", message: error } },
  }),
};

/** In this family the case is a field. */
const RANDOM: HostInterface = {
  "random-bytes": ({ args: [size], error }) => ({
    family: "Random",
    called: { type: "random_bytes_call", requested_size: numberOf(size) },
    returned: { type: "random_bytes_result", generated_size: numberOf(size), success: true },
    failed: { type: "error", operation: "random-bytes", message: error },
  }),
  "random-range": ({ args: [min, max], ok, error }) => ({
    family: "Random",
    called: { type: "random_range_call", min: numberOf(min), max: numberOf(max) },
    returned: { type: "random_range_result", min: numberOf(min), max: numberOf(max), value: numberOf(ok), success: true },
    failed: { type: "error", operation: "random-range", message: error },
  }),
  "random-float": ({ ok, error }) => ({
    family: "Random",
    called: { type: "random_float_call" },
    returned: { type: "random_float_result", value: numberOf(ok), success: true },
    failed: { type: "error", operation: "random-float", message: error },
  }),
  "generate-uuid": ({ ok, error }) => ({
    family: "Random",
    called: { type: "generate_uuid_call" },
    returned: { type: "generate_uuid_result", uuid: textOf(ok), success: true },
    failed: { type: "error", operation: "generate-uuid", message: error },
  }),
};

const messageFailure = (operation: string, recipient: string | null, message: string | undefined) => ({
  Error: { operation, recipient, message },
});
const MESSAGE_FAMILY = "Message";
const BINARY = "binary";

const MESSAGES: HostInterface = {
  send: ({ args: [to, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { SendMessageCall: { recipient: textOf(to), message_type: BINARY, data: bytesOf(data) } },
    returned: { SendMessageResult: { recipient: textOf(to), success: true } },
    failed: messageFailure("send", textOf(to), error),
  }),
  request: ({ args: [to, data], ok, error }) => ({
    family: MESSAGE_FAMILY,
    called: { RequestMessageCall: { recipient: textOf(to), message_type: BINARY, data: bytesOf(data) } },
    returned: { RequestMessageResult: { recipient: textOf(to), data: bytesOf(ok), success: true } },
    failed: messageFailure("request", textOf(to), error),
  }),
  "open-channel": ({ args: [to, data], ok, error }) => ({
    family: MESSAGE_FAMILY,
    called: { OpenChannelCall: { recipient: textOf(to), message_type: BINARY, size: bytesOf(data).length } },
    returned: { OpenChannelResult: { recipient: textOf(to), channel_id: textOf(ok), accepted: true } },
    failed: messageFailure("open-channel", textOf(to), error),
  }),
  "send-on-channel": ({ args: [channel, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { ChannelMessageCall: { channel_id: textOf(channel), msg: bytesOf(data) } },
    returned: { ChannelMessageResult: { channel_id: textOf(channel), success: true } },
    failed: messageFailure("send-on-channel", textOf(channel), error),
  }),
  "close-channel": ({ args: [channel], error }) => ({
    family: MESSAGE_FAMILY,
    called: { CloseChannelCall: { channel_id: textOf(channel) } },
    returned: { CloseChannelResult: { channel_id: textOf(channel), success: true } },
    failed: messageFailure("close-channel", textOf(channel), error),
  }),
  "list-outstanding-requests": ({ ok }) => ({
    family: MESSAGE_FAMILY,
    called: { ListOutstandingRequestsCall: {} },
    returned: { ListOutstandingRequestsResult: { request_count: itemsOf(ok).length, request_ids: itemsOf(ok).map(textOf) } },
  }),
  "respond-to-request": ({ args: [request, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { RespondToRequestCall: { request_id: textOf(request), response_size: bytesOf(data).length } },
    returned: { RespondToRequestResult: { request_id: textOf(request), success: true } },
    failed: messageFailure("respond-to-request", textOf(request), error),
  }),
  "cancel-request": ({ args: [request], error }) => ({
    family: MESSAGE_FAMILY,
    called: { CancelRequestCall: { request_id: textOf(request) } },
    returned: { CancelRequestResult: { request_id: textOf(request), success: true } },
    failed: messageFailure("cancel-request", textOf(request), error),
  }),
};

const supervisorFailure = (operation: string, child: string | null, message: string | undefined) => ({
  Error: { operation, child_id: child, message },
});
const SUPERVISOR_FAMILY = "Supervisor";

const SUPERVISOR: HostInterface = {
  spawn: ({ args: [manifest], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { SpawnChildCall: { manifest_path: textOf(manifest) } },
    returned: { SpawnChildResult: { child_id: textOf(ok), success: true } },
    failed: supervisorFailure("spawn", null, error),
  }),
  resume: ({ args: [manifest, state], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { ResumeChildCall: { manifest_path: textOf(manifest), initial_state: bytesOrNull(state) } },
    returned: { ResumeChildResult: { child_id: textOf(ok), success: true } },
    failed: supervisorFailure("resume", null, error),
  }),
  "list-children": ({ ok }) => ({
    family: SUPERVISOR_FAMILY,
    called: { ListChildrenCall: {} },
    returned: { ListChildrenResult: { children_count: itemsOf(ok).length, success: true } },
  }),
  "stop-child": ({ args: [child], error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { StopChildCall: { child_id: textOf(child) } },
    returned: { StopChildResult: { child_id: textOf(child), success: true } },
    failed: supervisorFailure("stop-child", textOf(child), error),
  }),
  "restart-child": ({ args: [child], error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { RestartChildCall: { child_id: textOf(child) } },
    returned: { RestartChildResult: { child_id: textOf(child), success: true } },
    failed: supervisorFailure("restart-child", textOf(child), error),
  }),
  "get-child-state": ({ args: [child], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { GetChildStateCall: { child_id: textOf(child) } },
    returned: { GetChildStateResult: { child_id: textOf(child), state_size: bytesOf(ok).length, success: true } },
    failed: supervisorFailure("get-child-state", textOf(child), error),
  }),
  "get-child-events": ({ args: [child], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { GetChildEventsCall: { child_id: textOf(child) } },
    returned: { GetChildEventsResult: { child_id: textOf(child), events_count: itemsOf(ok).length, success: true } },
    failed: supervisorFailure("get-child-events", textOf(child), error),
  }),
};

const contentRef = (value: WitValue): Printable => ({ hash: textOf(fieldOf(value, "hash")) });
const contentRefOrNull = (value: WitValue): Printable => (value === undefined ? null : contentRef(value));

type Fields = Readonly<Record<string, Printable>>;

/** A call whose two cases hold the store's id and its parameters. */
const storeFunction =
  (
    name: string,
    operation: string,
    callFields: (args: readonly WitValue[]) => Fields,
    resultFields: (ok: WitValue, fields: Fields) => Fields = (_, fields) => fields,
  ) =>
  ({ args: [store, ...rest], ok, error }: HostCall): HostCallEvents => {
    const fields: Fields = { store_id: textOf(store), ...callFields(rest) };
    return {
      family: "Store",
      called: { [`${name}Call`]: fields },
      returned: { [`${name}Result`]: { ...resultFields(ok, fields), success: true } },
      failed: { Error: { operation, message: error } },
    };
  };

const storeField = ({ store_id }: Fields): Fields => ({ store_id: store_id ?? "" });
const labelFields = ({ store_id, label }: Fields): Fields => ({ store_id: store_id ?? "", label: label ?? "" });

const STORE: HostInterface = {
  new: ({ ok, error }) => ({
    family: "Store",
    called: { NewStoreCall: {} },
    returned: { NewStoreResult: { store_id: textOf(ok), success: true } },
    failed: { Error: { operation: "new", message: error } },
  }),
  store: storeFunction(
    "Store",
    "store",
    ([content]) => ({ content: bytesOf(content) }),
    (ok, fields) => ({ ...storeField(fields), content_ref: contentRef(ok) }),
  ),
  get: storeFunction(
    "Get",
    "get",
    ([content]) => ({ content_ref: contentRef(content) }),
    (ok, fields) => ({ ...fields, content: bytesOf(ok) }),
  ),
  exists: storeFunction(
    "Exists",
    "exists",
    ([content]) => ({ content_ref: contentRef(content) }),
    (ok, fields) => ({ ...fields, exists: booleanOf(ok) }),
  ),
  label: storeFunction("Label", "label", ([label, content]) => ({ label: textOf(label), content_ref: contentRef(content) })),
  "get-by-label": storeFunction(
    "GetByLabel",
    "get-by-label",
    ([label]) => ({ label: textOf(label) }),
    (ok, fields) => ({ ...fields, content_ref: contentRefOrNull(ok) }),
  ),
  "remove-label": storeFunction("RemoveLabel", "remove-label", ([label]) => ({ label: textOf(label) })),
  "remove-from-label": storeFunction("RemoveLabel", "remove-from-label", ([label]) => ({ label: textOf(label) })),
  "store-at-label": storeFunction(
    "StoreAtLabel",
    "store-at-label",
    ([label, content]) => ({ label: textOf(label), content: bytesOf(content) }),
    (ok, fields) => ({ ...labelFields(fields), content_ref: contentRef(ok) }),
  ),
  "replace-content-at-label": storeFunction(
    "ReplaceContentAtLabel",
    "replace-content-at-label",
    ([label, content]) => ({ label: textOf(label), content: bytesOf(content) }),
    (ok, fields) => ({ ...labelFields(fields), content_ref: contentRef(ok) }),
  ),
  "replace-at-label": storeFunction("ReplaceAtLabel", "replace-at-label", ([label, content]) => ({
    label: textOf(label),
    content_ref: contentRef(content),
  })),
  "list-labels": storeFunction(
    "ListLabels",
    "list-labels",
    () => ({}),
    (ok, fields) => ({ ...fields, labels: itemsOf(ok).map(textOf) }),
  ),
  "list-all-content": storeFunction(
    "ListAllContent",
    "list-all-content",
    () => ({}),
    (ok, fields) => ({ ...fields, content_refs: itemsOf(ok).map(contentRef) }),
  ),
  "calculate-total-size": storeFunction(
    "CalculateTotalSize",
    "calculate-total-size",
    () => ({}),
    (ok, fields) => ({ ...fields, size: numberOf(ok) }),
  ),
};

const FILESYSTEM_FAMILY = "Filesystem";
const bodyText = (content: WitValue): string | null => (content instanceof Uint8Array ? Buffer.from(content).toString() : null);

const pathFunction =
  (
    operation: string,
    callCase: string,
    resultCase: string,
    resultFields: (call: HostCall) => { readonly [name: string]: Printable } = () => ({}),
  ) =>
  (call: HostCall): HostCallEvents => {
    const path = textOf(call.args[0]);
    return {
      family: FILESYSTEM_FAMILY,
      called: { [callCase]: { path } },
      returned: { [resultCase]: { path, ...resultFields(call), success: true } },
      failed: { Error: { operation, path, message: call.error } },
    };
  };

/** The variant's case, with Rust's names. */
function commandResult(result: WitValue): Printable {
  const success = fieldOf(result, "success");
  if (success === undefined) return { Error: { message: textOf(fieldOf(fieldOf(result, "error"), "message")) } };
  return {
    Success: {
      stdout: textOf(fieldOf(success, "stdout")),
      stderr: textOf(fieldOf(success, "stderr")),
      exit_code: numberOf(fieldOf(success, "exit-code")),
    },
  };
}

const FILESYSTEM: HostInterface = {
  "read-file": ({ args: [path], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { FileReadCall: { path: textOf(path) } },
    returned: { FileReadResult: { success: true, contents: bytesOf(ok) } },
    failed: { Error: { operation: "read-file", path: textOf(path), message: error } },
  }),
  "write-file": (call) => ({
    ...pathFunction("write-file", "FileWriteCall", "FileWriteResult")(call),
    called: { FileWriteCall: { path: textOf(call.args[0]), contents: Buffer.from(textOf(call.args[1])) } },
  }),
  "list-files": pathFunction("list-files", "DirectoryListedCall", "DirectoryListResult", ({ ok }) => ({
    entries: itemsOf(ok).map(textOf),
  })),
  "delete-file": pathFunction("delete-file", "FileDeleteCall", "FileDeleteResult"),
  "create-dir": pathFunction("create-dir", "DirectoryCreatedCall", "DirectoryCreatedResult"),
  "delete-dir": pathFunction("delete-dir", "DirectoryDeletedCall", "DirectoryDeletedResult"),
  "path-exists": pathFunction("path-exists", "PathExistsCall", "PathExistsResult", ({ ok }) => ({ exists: booleanOf(ok) })),
  "execute-command": ({ args: [directory, command, args], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { CommandExecuted: { directory: textOf(directory), command: textOf(command), args: itemsOf(args).map(textOf) } },
    returned: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-command", path: textOf(directory), message: error } },
  }),
  "execute-nix-command": ({ args: [directory, command], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { NixCommandExecuted: { directory: textOf(directory), command: textOf(command) } },
    returned: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-nix-command", path: textOf(directory), message: error } },
  }),
};

const HTTP_CLIENT: HostInterface = {
  "send-http": ({ args: [request], ok, error }) => {
    const url = textOf(fieldOf(request, "uri"));
    return {
      family: "Http",
      called: {
        HttpClientRequestCall: {
          method: textOf(fieldOf(request, "method")),
          url,
          headers_count: itemsOf(fieldOf(request, "headers")).length,
          body: bodyText(fieldOf(request, "body")),
        },
      },
      returned: {
        HttpClientRequestResult: {
          status: numberOf(fieldOf(ok, "status")),
          headers_count: itemsOf(fieldOf(ok, "headers")).length,
          success: true,
          body: bodyText(fieldOf(ok, "body")),
        },
      },
      failed: { Error: { operation: "send-http", path: url, message: error } },
    };
  },
};

const environmentLookup =
  (operation: string, isFound: (ok: WitValue) => boolean) =>
  ({ args: [name], ok, at }: HostCall): HostCallEvents => ({
    family: "Environment",
    called: { operation, variable_name: textOf(name), success: true, value_found: isFound(ok), timestamp: new Date(at).toISOString() },
  });

/** This family has one event for each call, and no enum. */
const ENVIRONMENT: HostInterface = {
  "get-var": environmentLookup("get-var", (ok) => ok !== undefined),
  exists: environmentLookup("exists", booleanOf),
  "list-vars": environmentLookup("list-vars", (ok) => itemsOf(ok).length > 0),
};

/** By the interface of the import. */
export const HOST_FUNCTIONS: Readonly<Record<string, HostInterface>> = {
  runtime: RUNTIME,
  "message-server-host": MESSAGES,
  supervisor: SUPERVISOR,
  store: STORE,
  timing: TIMING,
  random: RANDOM,
  environment: ENVIRONMENT,
  filesystem: FILESYSTEM,
  "http-client": HTTP_CLIENT,
};
