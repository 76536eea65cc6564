import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";
import { bytes, count, field, flag, items, text } from "../values.ts";
import type { HostCall, HostInterface, HostCallEvents } from "./told.ts";

const FILESYSTEM_FAMILY = "Filesystem";
const bodyText = (content: WitValue): string | null => (content instanceof Uint8Array ? Buffer.from(content).toString() : null);

const pathFunction =
  (operation: string, callCase: string, resultCase: string, resultFields: (call: HostCall) => { readonly [name: string]: Printable } = () => ({})) =>
  (call: HostCall): HostCallEvents => {
    const path = text(call.args[0]);
    return {
      family: FILESYSTEM_FAMILY,
      called: { [callCase]: { path } },
      returned: { [resultCase]: { path, ...resultFields(call), success: true } },
      failed: { Error: { operation, path, message: call.error } },
    };
  };

/** The variant's case, with Rust's names. */
function commandResult(result: WitValue): Printable {
  const success = field(result, "success");
  if (success === undefined) return { Error: { message: text(field(field(result, "error"), "message")) } };
  return {
    Success: {
      stdout: text(field(success, "stdout")),
      stderr: text(field(success, "stderr")),
      exit_code: count(field(success, "exit-code")),
    },
  };
}

export const FILESYSTEM: HostInterface = {
  "read-file": ({ args: [path], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { FileReadCall: { path: text(path) } },
    returned: { FileReadResult: { success: true, contents: bytes(ok) } },
    failed: { Error: { operation: "read-file", path: text(path), message: error } },
  }),
  "write-file": (call) => ({
    ...pathFunction("write-file", "FileWriteCall", "FileWriteResult")(call),
    called: { FileWriteCall: { path: text(call.args[0]), contents: Buffer.from(text(call.args[1])) } },
  }),
  "list-files": pathFunction("list-files", "DirectoryListedCall", "DirectoryListResult", ({ ok }) => ({ entries: items(ok).map(text) })),
  "delete-file": pathFunction("delete-file", "FileDeleteCall", "FileDeleteResult"),
  "create-dir": pathFunction("create-dir", "DirectoryCreatedCall", "DirectoryCreatedResult"),
  "delete-dir": pathFunction("delete-dir", "DirectoryDeletedCall", "DirectoryDeletedResult"),
  "path-exists": pathFunction("path-exists", "PathExistsCall", "PathExistsResult", ({ ok }) => ({ exists: flag(ok) })),
  "execute-command": ({ args: [directory, command, args], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { CommandExecuted: { directory: text(directory), command: text(command), args: items(args).map(text) } },
    returned: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-command", path: text(directory), message: error } },
  }),
  "execute-nix-command": ({ args: [directory, command], ok, error }) => ({
    family: FILESYSTEM_FAMILY,
    called: { NixCommandExecuted: { directory: text(directory), command: text(command) } },
    returned: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-nix-command", path: text(directory), message: error } },
  }),
};

export const HTTP_CLIENT: HostInterface = {
  "send-http": ({ args: [request], ok, error }) => {
    const url = text(field(request, "uri"));
    return {
      family: "Http",
      called: {
        HttpClientRequestCall: {
          method: text(field(request, "method")),
          url,
          headers_count: items(field(request, "headers")).length,
          body: bodyText(field(request, "body")),
        },
      },
      returned: {
        HttpClientRequestResult: {
          status: count(field(ok, "status")),
          headers_count: items(field(ok, "headers")).length,
          success: true,
          body: bodyText(field(ok, "body")),
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
    called: { operation, variable_name: text(name), success: true, value_found: isFound(ok), timestamp: new Date(at).toISOString() },
  });

/** This family has one event for each call, and no enum. */
export const ENVIRONMENT: HostInterface = {
  "get-var": environmentLookup("get-var", (ok) => ok !== undefined),
  exists: environmentLookup("exists", flag),
  "list-vars": environmentLookup("list-vars", (ok) => items(ok).length > 0),
};
