import { actorsOf } from "../bridges/operate/paging.ts";
import { GUEST } from "../bridges/wasm/guest-state.ts";
import type { DumpCounts } from "../core/chain/index.ts";
import {
  type ActorViewer,
  type ExportedActor,
  type Importer,
  isJsonObject,
  type Json,
  type Message,
  systemClock,
} from "../core/contract/index.ts";
import { contextViewer, isReplyAction } from "../core/contract/internal.ts";
import type { DataDirectory } from "./data-directory.ts";
import { openToRead } from "./open-store.ts";
import { counted, printLine, visible } from "./output.ts";

const TOLD_EVERY_MS = 200;
/** Asking the clock costs more than a line. */
const LOOKED_EVERY = 256;

/** `3 actors, 12 events, 1 reply, 0 messages, 0 dead letters`. */
export const countsText = ({ actors, events, calls, messages, letters }: DumpCounts): string =>
  [
    counted(actors, "actor"),
    counted(events, "event"),
    `${calls} ${calls === 1 ? "reply" : "replies"}`,
    counted(messages, "message"),
    counted(letters, "dead letter"),
  ].join(", ");

/** How far it has come, on one line that is written over; for a person at a terminal only. */
export class ProgressLine {
  readonly #verb: string;
  readonly #shown: boolean;
  #asked = 0;
  #toldAt = 0;
  #said = false;

  constructor(verb: string, json: boolean) {
    this.#verb = verb;
    this.#shown = !json && process.stderr.isTTY;
  }

  tell(counts: DumpCounts): void {
    if (!this.#shown || ++this.#asked % LOOKED_EVERY !== 0) return;
    const now = systemClock.now();
    if (now - this.#toldAt < TOLD_EVERY_MS) return;
    this.#toldAt = now;
    this.#said = true;
    process.stderr.write(`\r\u001b[K${this.#verb} ${countsText(counts)}`);
  }

  /** The line is free for something else. */
  end(): void {
    if (this.#said) process.stderr.write("\r\u001b[K");
    this.#said = false;
  }
}

/** A result: on standard output, unless that is where the export went. */
export const showResult = (value: object, text: string, json: boolean, toError: boolean): void => {
  const line = json ? JSON.stringify(value) : visible(text);
  if (toError) process.stderr.write(`${line}\n`);
  else printLine(line);
};

/** What guests hold besides their chains, in a data directory: an export is of chains. */
const BESIDE = ["content.db", "guests"];

/** What has to be copied beside an export of this directory. Nothing where no guest is in it. */
export const besideExport = async (directory: DataDirectory, kind?: string): Promise<readonly string[]> => {
  if (kind !== undefined && kind !== GUEST) return [];
  const { store } = await openToRead({ data: directory.path });
  await using _ = store;
  for await (const _guest of actorsOf(store, { kind: GUEST, page: 1 })) return BESIDE;
  return [];
};

/** For people. */
export const besideText = (beside: readonly string[]): string =>
  beside.length === 0 ? "" : ` What guests store is not in it: copy ${beside.join(" and ")} too (docs/guide/backup.md).`;

const MOST_VIEWERS = 100;

interface Runs {
  readonly principal: string | undefined;
  readonly scopes: readonly string[];
  /** `kind/role`. */
  readonly roles: readonly string[];
  messages: number;
}

/** The messages, dead letters and replies under way of an import, and whom they act as: a file can name anybody. */
export class ImportMessages {
  #others = 0;
  readonly #runs = new Map<string, Runs>();

  /** The same place, watched; `leaveOut`: no message, no letter and no reply under way gets there. */
  into(place: Importer, leaveOut: boolean): Importer {
    return {
      actor: (actor) => {
        this.#countRow(actor);
        return place.actor(leaveOut ? withoutOthersReplies(actor) : actor);
      },
      message: async (undelivered) => {
        this.#count(undelivered.message);
        return leaveOut || (await place.message(undelivered));
      },
      letter: async (letter) => {
        this.#count(letter.message);
        return leaveOut || (await place.letter(letter));
      },
      flush: () => place.flush(),
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    };
  }

  /** On the standard error, where there are any. */
  report(leftOut: boolean, json: boolean): void {
    if (this.#runs.size === 0) return;
    const runs = Array.from(this.#runs.values());
    const others = this.#others === 0 ? {} : { others: this.#others };
    const rest = this.#others === 0 ? [] : [`${this.#others} as others`];
    const line = json
      ? JSON.stringify({ event: "import-messages", leftOut, runs: runs.map(runJson), ...others })
      : visible(`${leftOut ? LEFT_OUT : WILL_RUN} ${[...runs.map(runText), ...rest].join("; ")}.`);
    process.stderr.write(`${line}\n`);
  }

  #countRow({ row }: ExportedActor): void {
    for (const reply of Object.values(row.pending)) {
      const viewer = replyViewer(reply);
      if (viewer !== undefined) this.#countAs(viewer);
    }
  }

  /** A reply acts as the viewer of the call that waits for it, which its context names. */
  #count({ viewer, action, args, replyContext }: Message): void {
    const context: Json | undefined = isReplyAction(action) && isJsonObject(args) ? args["context"] : undefined;
    this.#countAs(viewer ?? contextViewer(context));
    const waits = contextViewer(replyContext);
    if (waits !== undefined) this.#countAs(waits);
  }

  #countAs(viewer: ActorViewer | undefined): void {
    const { principal, scopes = [], rolesByKind = {} } = viewer ?? {};
    const roles = Object.entries(rolesByKind).flatMap(([kind, names]) => names.map((name) => `${kind}/${name}`));
    const name = JSON.stringify([principal, scopes, roles]);
    const known = this.#runs.get(name);
    if (known !== undefined) known.messages += 1;
    else if (this.#runs.size < MOST_VIEWERS) this.#runs.set(name, { principal, scopes, roles, messages: 1 });
    else this.#others += 1;
  }
}

/** On whose behalf a pending reply will run a handler of the actor that waits for it. */
const replyViewer = (reply: Json): ActorViewer | undefined => (isJsonObject(reply) ? contextViewer(reply["replyContext"]) : undefined);

/** Other pending replies stay: an import that is repeated with its messages would not bring them. */
function withoutOthersReplies(actor: ExportedActor): ExportedActor {
  const pending = Object.fromEntries(Object.entries(actor.row.pending).filter(([, reply]) => replyViewer(reply) === undefined));
  return { ...actor, row: { ...actor.row, pending } };
}

const WILL_RUN = "Messages of it run once it is served, dead letters when replayed (--no-messages leaves both out):";
const LEFT_OUT = "Left out:";

const runText = ({ principal, scopes, roles, messages }: Runs): string =>
  `${counted(messages, "message")} as ${principal ?? "nobody"}${withText("with", scopes)}${withText("in the roles", roles)}`;

const runJson = ({ roles, ...run }: Runs): object => (roles.length === 0 ? run : { ...run, roles });

const withText = (word: string, names: readonly string[]): string => (names.length === 0 ? "" : ` ${word} ${names.join(" ")}`);
