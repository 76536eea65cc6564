import type { Command } from "commander";
import type { ActorId, Json } from "../contract/index.ts";
import { stateFrom } from "../chain/index.ts";
import { actorId } from "./actor-id.ts";
import { isBag, textOr } from "./bag.ts";
import { DataDirectory } from "./data-directory.ts";
import { CommandError, EXIT, notFound, usage } from "./exit-code.ts";
import { type Common, common, moduleOption, type Writing } from "./options.ts";
import { output, table } from "./output.ts";
import { openToRead } from "./reading.ts";
import { kindOf } from "./unserved.ts";
import { write } from "./write.ts";

const PAGE = 500;

const parseJson = (text: string, what: string): Json => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${what} must be JSON, such as '{"by":2}': ${error instanceof Error ? error.message : String(error)}.`);
  }
};

export const registerActorCommands = (program: Command): void => {
  common(program.command("actors").description("List the actors in a data directory."))
    .option("--kind <kind>", "of this kind only")
    .option("--limit <n>", "at most so many", Number, 10_000)
    .action(async (options: Common & { kind?: string; limit: number }) => {
      const { store, directory } = openToRead(options.data);
      await using _ = store;
      const out = output(options.json === true);
      const kinds = directory.readNote()?.kinds;
      const served = kinds === undefined ? undefined : new Set(kinds);
      const rows: string[][] = [];
      let after: ActorId | undefined;
      let left = options.limit;
      while (left > 0) {
        const page = await store.list({
          limit: Math.min(PAGE, left),
          ...(options.kind === undefined ? {} : { kind: options.kind }),
          ...(after === undefined ? {} : { after }),
        });
        for (const { id, seq, head, status } of page) {
          const isServed = served?.has(kindOf(id));
          if (out.json) out.show({ id, seq, head, status, ...(isServed === undefined ? {} : { served: isServed }) }, () => "");
          else
            rows.push([id, String(seq), isServed === false && status !== "stopped" ? `${status}, not served` : status, head.slice(0, 12)]);
        }
        left -= page.length;
        after = page.at(-1)?.id;
        if (page.length < PAGE) break;
      }
      if (!out.json) out.show({}, () => (rows.length === 0 ? "No actors." : table(["actor", "events", "status", "head"], rows)));
    });

  common(program.command("state").description("Print an actor's last durable state.").argument("<actor>", "kind/key")).action(
    async (actor: string, options: Common) => {
      const id = actorId(actor);
      const { store } = openToRead(options.data);
      await using _ = store;
      const stored = await store.load(id);
      if (stored === undefined) throw notFound(`There is no actor ${id}; "troupe actors" lists them.`);
      const { state } = stateFrom(stored.tail);
      output(options.json === true).show(
        { id, seq: stored.seq, head: stored.head, status: stored.row.status, version: stored.row.version, state: state ?? null },
        () => JSON.stringify(state, null, 2),
      );
    },
  );

  common(
    program
      .command("call")
      .description("Send one message to an actor and print its reply.")
      .argument("<actor>", "kind/key")
      .argument("<action>", "tools/open, or the name of a message")
      .argument("[args]", "its arguments as JSON", "{}"),
  )
    .option("--as <name>", "the principal it comes from", "local")
    .option("--start", "begin the actor if it is not there yet")
    .addOption(moduleOption())
    .action(async (actor: string, action: string, args: string, options: Writing & { as: string; start?: boolean }) => {
      const reply = await write(new DataDirectory(options.data), options.module ?? [], "call", {
        actor: actorId(actor),
        action,
        args: parseJson(args, "The arguments"),
        as: options.as,
        ...(options.start === true ? { start: null } : {}),
      });
      if (!isBag(reply))
        throw new CommandError(
          EXIT.failed,
          "NO_REPLY",
          "The server's answer was no reply: it may be of another version than this command.",
        );
      const { refused } = reply;
      if (isBag(refused))
        throw new CommandError(
          EXIT.refused,
          textOr(refused["code"], "REFUSED"),
          textOr(refused["message"], "The actor refused without a word."),
        );
      output(options.json === true).show(reply, () => {
        const value = "ok" in reply ? reply["ok"] : reply;
        return typeof value === "string" ? value : JSON.stringify(value, null, 2);
      });
    });

  common(program.command("stop").description("End an actor; its children first.").argument("<actor>", "kind/key"))
    .option("--reason <text>", "kept in its last event", "stopped by command")
    .addOption(moduleOption())
    .action(async (actor: string, options: Writing & { reason: string }) => {
      await write(new DataDirectory(options.data), options.module ?? [], "stop", { actor: actorId(actor), reason: options.reason });
      output(options.json === true).show({ ok: true }, () => "Done.");
    });

  common(
    program
      .command("restart")
      .description("Drop an actor from memory and clear its failure; its state stays.")
      .argument("<actor>", "kind/key"),
  )
    .addOption(moduleOption())
    .action(async (actor: string, options: Writing) => {
      await write(new DataDirectory(options.data), options.module ?? [], "restart", { actor: actorId(actor) });
      output(options.json === true).show({ ok: true }, () => "Done.");
    });

  const letters = program.command("letters").description("Sends that failed three times: list, replay, drop.");
  common(letters.command("list", { isDefault: true }).description("List them.")).action(async (options: Common) => {
    const { store } = openToRead(options.data);
    await using _ = store;
    const out = output(options.json === true);
    const found = await store.letters(10_000);
    if (out.json) for (const letter of found) out.show({ ...letter }, () => "");
    else
      out.show({}, () =>
        found.length === 0
          ? "No dead letters."
          : table(
              ["id", "to", "action", "since", "why"],
              found.map(({ message, why, at }) => [message.id, message.to, message.action, new Date(at).toISOString(), why]),
            ),
      );
  });
  for (const fate of ["replay", "drop"] as const)
    common(
      letters
        .command(fate)
        .description(fate === "replay" ? "Deliver one again." : "Give one up.")
        .argument("<id>"),
    )
      .addOption(moduleOption())
      .action(async (id: string, options: Writing) => {
        await write(new DataDirectory(options.data), options.module ?? [], "letter", { id, fate });
        output(options.json === true).show({ ok: true }, () => "Done.");
      });
};
