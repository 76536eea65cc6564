import type { Command } from "commander";
import { type JsonObject, isJsonObject, StoreError } from "../core/contract/index.ts";
import {
  eachActor,
  moduleOption,
  NAME_SECRET,
  namedActor,
  type Place,
  placed,
  transferOf,
  unusedModuleOption,
  type Writing,
} from "./actor-options.ts";
import { CommandError, EXIT, noActor, usage } from "./command-error.ts";
import { claims, parseJson, scopes } from "./option-parsers.ts";
import { counted, output, table, visible } from "./output.ts";
import { openToRead } from "./read-source.ts";
import { textOr } from "./text-or.ts";
import { write } from "./write-operation.ts";
import { hasOwn, omitUndefined } from "../core/contract/internal.ts";

const refusalText = (refused: JsonObject, action: string): string => {
  const message = textOr(refused["message"], "The actor refused without a word.");
  if (refused["code"] !== "UNKNOWN" || message.includes("Did you mean")) return message;
  return `${message} ${hintFor(action)}`;
};

const hintFor = (action: string): string => {
  const [, link, tool] = /^(?:tools\/)?(.+?)__(.+)$/.exec(action) ?? [];
  if (tool !== undefined) return `If ${link} is a link, call the actor that it leads to: troupe call <kind>/<key> tools/${tool}.`;
  if (!action.includes("/")) return `To call a tool, write tools/${action}.`;
  return "Check the name: what `enabled` hides from this caller gets the same answer. The tool of an index is the command `troupe find`.";
};

export const registerActorCommands = (program: Command): void => {
  placed(program.command("state").description("Print an actor's last durable state.").argument("<actor>", "kind/key")).action(
    async (actor: string, options: Place) => {
      const id = await namedActor(actor);
      const { store } = await openToRead(options);
      await using _ = store;
      const found = await store.state(id);
      if (found === undefined) throw noActor(id, store.place);
      const { uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, state } = found;
      const stateBytes = Buffer.byteLength(JSON.stringify(state));
      output(options).show({ id, uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, stateBytes, state }, () =>
        visible(JSON.stringify(state, null, 2)),
      );
    },
  );

  placed(
    program
      .command("call")
      .description("Send one message to an actor and print its reply.")
      .argument("<actor>", "kind/key")
      .argument("<action>", "tools/open, or the name of a message")
      .argument("[args]", "its arguments as JSON", "{}"),
  )
    .option("--as <name>", "the principal it comes from", "local")
    .option("--scope <scope>", "a scope of that principal; repeatable", scopes)
    .option("--claim <name=value>", "a claim of that principal, for the roles of allow; repeatable", claims)
    .option("--start", "begin the actor if it is not there yet")
    .addOption(moduleOption())
    .action(
      async (
        actor: string,
        action: string,
        args: string,
        options: Writing & { as: string; scope?: readonly string[]; claim?: JsonObject; start?: boolean },
      ) => {
        const reply = await write(options, "call", {
          actor: await namedActor(actor),
          action,
          args: parseJson(args, "The arguments", '{"by":2}'),
          as: options.as,
          scopes: options.scope ?? [],
          ...omitUndefined({ claims: options.claim }),
          ...(options.start === true ? { start: null } : {}),
        });
        if (!isJsonObject(reply))
          throw new CommandError(
            EXIT.failed,
            "NO_REPLY",
            "The server's answer was no reply: it may be of another version than this command.",
          );
        const { refused } = reply;
        if (isJsonObject(refused)) throw new CommandError(EXIT.refused, textOr(refused["code"], "REFUSED"), refusalText(refused, action));
        output(options).show(reply, () => {
          const value = hasOwn(reply, "ok") ? reply["ok"] : reply;
          const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
          // A file or a pipe gets what the actor said, to the letter.
          return process.stdout.isTTY ? visible(text) : text;
        });
      },
    );

  placed(program.command("stop").description("End an actor, and its children with it.").argument("<actor...>", "kind/key"))
    .option("--reason <text>", "kept in its last event", "stopped by command")
    .addOption(moduleOption())
    .action(async (actors: string[], options: Writing & { reason: string }) =>
      eachActor(actors, options.json, async (actor) => {
        await write(options, "stop", { actor, reason: options.reason });
        output(options).show({ ok: true }, () => "Done.");
      }),
    );

  placed(
    program
      .command("restart")
      .description("Drop an actor from memory and clear its failure; its state stays.")
      .argument("<actor>", "kind/key"),
  )
    .addOption(moduleOption())
    .action(async (actor: string, options: Writing) => {
      await write(options, "restart", { actor: await namedActor(actor) });
      output(options).show({ ok: true }, () => "Done.");
    });

  const letters = program.command("letters").description("Sends that failed three times: list, replay, drop.");
  placed(letters.command("list", { isDefault: true }).description("List them.")).action(async (options: Place) => {
    const { store } = await openToRead(options);
    await using _ = store;
    const out = output(options);
    const damaged: StoreError[] = [];
    const found = await store.letters(Number.MAX_SAFE_INTEGER, (error) => damaged.push(error));
    for (const letter of found) out.value({ id: letter.message.id, ...letter });
    out.text(() =>
      found.length === 0
        ? "No dead letters."
        : table(
            ["id", "to", "action", "since", "why"],
            found.map(({ message, why, at }) => [message.id, message.to, message.action, new Date(at).toISOString(), why]),
          ),
    );
    const [first] = damaged;
    if (first !== undefined && options.engine !== undefined && transferOf(options)?.secret === undefined)
      throw usage(`${counted(damaged.length, "letter")} cannot be read: ${NAME_SECRET}`);
    if (first !== undefined) throw new StoreError(first.code, `${counted(damaged.length, "letter")} cannot be read. ${first.message}`);
  });
  for (const fate of ["replay", "drop"] as const)
    placed(
      letters
        .command(fate)
        .description(fate === "replay" ? "Deliver one again." : "Give one up.")
        .argument("<id>"),
    )
      .addOption(fate === "replay" ? moduleOption() : unusedModuleOption())
      .action(async (id: string, options: Writing) => {
        await write(options, "letter", { id, fate });
        output(options).show({ ok: true }, () => "Done.");
      });
};
