import { type ActorViewer, type ExportedActor, type Importer, isJsonObject, type Json, type Message } from "../core/contract/index.ts";
import { contextViewer, isReplyAction } from "../core/contract/internal.ts";
import { counted, visible } from "./output.ts";

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
