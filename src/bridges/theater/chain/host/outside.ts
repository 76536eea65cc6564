import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";
import { bytes, count, field, flag, items, text } from "../values.ts";
import type { Call, Family, Told } from "./told.ts";

const FILES = "Filesystem";
const textOf = (content: WitValue): string | null => (content instanceof Uint8Array ? Buffer.from(content).toString() : null);

const onPath =
  (operation: string, called: string, gave: string, told: (call: Call) => { readonly [name: string]: Printable } = () => ({})) =>
  (call: Call): Told => {
    const path = text(call.args[0]);
    return {
      family: FILES,
      called: { [called]: { path } },
      gave: { [gave]: { path, ...told(call), success: true } },
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

export const FILESYSTEM: Family = {
  "read-file": ({ args: [path], ok, error }) => ({
    family: FILES,
    called: { FileReadCall: { path: text(path) } },
    gave: { FileReadResult: { success: true, contents: bytes(ok) } },
    failed: { Error: { operation: "read-file", path: text(path), message: error } },
  }),
  "write-file": (call) => ({
    ...onPath("write-file", "FileWriteCall", "FileWriteResult")(call),
    called: { FileWriteCall: { path: text(call.args[0]), contents: Buffer.from(text(call.args[1])) } },
  }),
  "list-files": onPath("list-files", "DirectoryListedCall", "DirectoryListResult", ({ ok }) => ({ entries: items(ok).map(text) })),
  "delete-file": onPath("delete-file", "FileDeleteCall", "FileDeleteResult"),
  "create-dir": onPath("create-dir", "DirectoryCreatedCall", "DirectoryCreatedResult"),
  "delete-dir": onPath("delete-dir", "DirectoryDeletedCall", "DirectoryDeletedResult"),
  "path-exists": onPath("path-exists", "PathExistsCall", "PathExistsResult", ({ ok }) => ({ exists: flag(ok) })),
  "execute-command": ({ args: [directory, command, args], ok, error }) => ({
    family: FILES,
    called: { CommandExecuted: { directory: text(directory), command: text(command), args: items(args).map(text) } },
    gave: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-command", path: text(directory), message: error } },
  }),
  "execute-nix-command": ({ args: [directory, command], ok, error }) => ({
    family: FILES,
    called: { NixCommandExecuted: { directory: text(directory), command: text(command) } },
    gave: { CommandCompleted: { result: commandResult(ok) } },
    failed: { Error: { operation: "execute-nix-command", path: text(directory), message: error } },
  }),
};

export const HTTP_CLIENT: Family = {
  "send-http": ({ args: [request], ok, error }) => {
    const url = text(field(request, "uri"));
    return {
      family: "Http",
      called: {
        HttpClientRequestCall: {
          method: text(field(request, "method")),
          url,
          headers_count: items(field(request, "headers")).length,
          body: textOf(field(request, "body")),
        },
      },
      gave: {
        HttpClientRequestResult: {
          status: count(field(ok, "status")),
          headers_count: items(field(ok, "headers")).length,
          success: true,
          body: textOf(field(ok, "body")),
        },
      },
      failed: { Error: { operation: "send-http", path: url, message: error } },
    };
  },
};

const looked =
  (operation: string, found: (ok: WitValue) => boolean) =>
  ({ args: [name], ok, at }: Call): Told => ({
    family: "Environment",
    called: { operation, variable_name: text(name), success: true, value_found: found(ok), timestamp: new Date(at).toISOString() },
  });

/** This family has one event for each call, and no enum. */
export const ENVIRONMENT: Family = {
  "get-var": looked("get-var", (ok) => ok !== undefined),
  exists: looked("exists", flag),
  "list-vars": looked("list-vars", (ok) => items(ok).length > 0),
};
