// Owns: `troupe call`: the message, and how its reply or refusal is printed. Does not own: who performs it (run-operation.ts).
import type { Command } from "commander";
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { hasOwn, omitUndefined } from "../../core/contract/internal.ts";
import { moduleOption, resolveActor, addTargetOptions, type WriteOptions } from "../actor-options.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { parseClaim, parseJson, parseScope } from "../option-parsers.ts";
import { output, textOrElse, visible } from "../output.ts";
import { runOperation } from "../run-operation.ts";

interface CallOptions extends WriteOptions {
  readonly as: string;
  readonly scope?: readonly string[];
  readonly claim?: JsonObject;
  readonly start?: boolean;
}

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("call")
      .description("Send one message to an actor and print its reply.")
      .argument("<actor>", "kind/key")
      .argument("<action>", "tools/open, or the name of a message")
      .argument("[args]", "its arguments as JSON", "{}"),
  )
    .option("--as <name>", "the principal it comes from", "local")
    .option("--scope <scope>", "a scope of that principal; repeatable", parseScope)
    .option("--claim <name=value>", "a claim of that principal, for the roles of allow; repeatable", parseClaim)
    .option("--start", "begin the actor if it is not there yet")
    .addOption(moduleOption())
    .action(call);
};

const call = async (actor: string, action: string, args: string, options: CallOptions): Promise<void> => {
  const reply = await runOperation(options, "call", {
    actor: await resolveActor(actor),
    action,
    args: parseJson(args, "The arguments", '{"by":2}'),
    as: options.as,
    scopes: options.scope ?? [],
    ...omitUndefined({ claims: options.claim }),
    ...(options.start === true ? { start: null } : {}),
  });
  if (!isJsonObject(reply))
    throw new CommandError(EXIT.failed, "NO_REPLY", "The server's answer was no reply: it may be of another version than this command.");
  const { refused } = reply;
  if (isJsonObject(refused)) throw new CommandError(EXIT.refused, textOrElse(refused["code"], "REFUSED"), refusalText(refused, action));
  output(options).show(reply, () => {
    const value = hasOwn(reply, "ok") ? reply["ok"] : reply;
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    // A file or a pipe gets the reply to the letter.
    return process.stdout.isTTY ? visible(text) : text;
  });
};

const refusalText = (refused: JsonObject, action: string): string => {
  const message = textOrElse(refused["message"], "The actor refused without a word.");
  if (refused["code"] !== "UNKNOWN" || message.includes("Did you mean")) return message;
  return `${message} ${hintFor(action)}`;
};

const hintFor = (action: string): string => {
  const [, link, tool] = /^(?:tools\/)?(.+?)__(.+)$/.exec(action) ?? [];
  if (tool !== undefined) return `If ${link} is a link, call the actor that it leads to: troupe call <kind>/<key> tools/${tool}.`;
  if (!action.includes("/")) return `To call a tool, write tools/${action}.`;
  return "Check the name: what `enabled` hides from this caller gets the same answer. The tool of an index is the command `troupe find`.";
};
