import { eventOf, type Kind, type Plan, statusOf } from "../chain/internal.ts";
import type { ChainEvent, Json, Message, Reply, Status } from "../contract/index.ts";

/**
 * A memory actor's last event: hashed when somebody asks, by then alone in its chain
 * unless its parent was asked for too. Every live memory actor has one, so it keeps
 * what the text is made of and no more.
 */
export class LastEvent {
  readonly seq: number;
  readonly status: Status;
  readonly #kind: Kind;
  readonly #message: Message;
  readonly #life: string;
  readonly #state: Json;
  readonly #reply: Reply | "later";
  /** Most turns have neither. */
  readonly #more: Pick<Plan, "sent" | "record"> | undefined;
  /** The parent's id; then the event itself. */
  #told: string | ChainEvent | null;

  constructor(kind: Kind, plan: Plan, before: LastEvent | undefined) {
    this.seq = plan.seq;
    this.status = statusOf(plan);
    this.#kind = kind;
    this.#message = plan.message;
    this.#life = plan.life;
    this.#state = plan.state;
    this.#reply = plan.reply;
    const { sent, record } = plan;
    this.#more = sent.length === 0 && record === undefined ? undefined : { sent, record };
    this.#told = before === undefined || !isEvent(before.#told) ? null : before.#told.id;
  }

  get event(): ChainEvent {
    if (isEvent(this.#told)) return this.#told;
    const turn = {
      message: this.#message,
      life: this.#life,
      seq: this.seq,
      state: this.#state,
      patch: undefined,
      sent: this.#more?.sent ?? NOTHING,
      reply: this.#reply,
      record: this.#more?.record,
    };
    return (this.#told = eventOf(this.#kind, turn, this.#told, true));
  }

  get head(): string {
    return this.event.id;
  }
}

const NOTHING: readonly string[] = [];

const isEvent = (told: string | ChainEvent | null): told is ChainEvent => typeof told === "object" && told !== null;
