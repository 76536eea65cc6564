// A flow without capabilities: a packet's payload says under `do` what happens.
import { type Caller, isJsonObject, type Json } from "../../core/contract/index.ts";
import { PacketError, type ReplyPacket, type RequestPacket } from "./packet.ts";
import type { PacketFlow, PacketSession, Reception } from "./packet-flow.ts";
import { readPacket } from "./read-packet.ts";
import { errorTo, heartbeatTo, progressFor, responseTo } from "./reply.ts";

export interface FakeSession {
  readonly caller: Caller;
  readonly received: RequestPacket[];
  readonly closed: boolean;
}

export interface FakeFlow extends Pick<PacketFlow, "open"> {
  readonly sessions: FakeSession[];
  /** Pending `hold` requests. */
  readonly held: number;
  /** `hold` requests that were cancelled. */
  readonly cancelled: number;
  /** Answers the pending requests in order of arrival. */
  release(): void;
  /** Sends progress of all pending requests. */
  progress(value: number): void;
}

interface Held {
  readonly answer: () => void;
  readonly cancel: () => void;
  readonly progress: (value: number) => void;
}

const FACTS = { execution_time_ms: 1 };
const MUCH = "x".repeat(100_000);

export function fakeFlow(): FakeFlow {
  const sessions: FakeSession[] = [];
  const held = new Set<Held>();
  let cancelled = 0;

  const hold = (packet: RequestPacket, mine: Map<string, Held>, tell: Reception["tell"]): Promise<ReplyPacket> =>
    new Promise((done) => {
      const end = (reply: ReplyPacket): void => {
        held.delete(one);
        mine.delete(packet.id ?? "");
        done(reply);
      };
      const one: Held = {
        answer: () => end(responseTo(packet, { ...FACTS, result: packet.payload })),
        cancel: () => {
          cancelled += 1;
          end(errorTo(packet, new PacketError("cancelled", "It was cancelled."), FACTS));
        },
        progress: (value) => tell?.(progressFor(packet, { progress: value }, FACTS)),
      };
      held.add(one);
      mine.set(packet.id ?? "", one);
    });

  const open = ({ caller, tell }: Reception): PacketSession => {
    const mine = new Map<string, Held>();
    const session = { caller, received: new Array<RequestPacket>(), closed: false };
    sessions.push(session);
    return {
      async receive(text) {
        const packet = readPacket(text);
        if (packet instanceof PacketError) return errorTo(packet.echo, packet, FACTS);
        session.received.push(packet);
        if (packet.type === "heartbeat") return heartbeatTo(packet, FACTS);
        if (packet.type === "cancel") {
          const { id } = packet.payload;
          const one = mine.get(typeof id === "string" ? id : "");
          one?.cancel();
          return responseTo(packet, { ...FACTS, result: { cancelled: one === undefined ? 0 : 1 } });
        }
        const deed: Json | undefined = packet.payload["do"];
        if (deed === "throw") throw new Error("a secret");
        if (deed === "hold") return hold(packet, mine, tell);
        if (deed === "much") return responseTo(packet, { ...FACTS, result: MUCH });
        if (deed === "progress") for (const value of [1, 2]) tell?.(progressFor(packet, { progress: value }, FACTS));
        if (isJsonObject(deed)) return errorTo(packet, refusal(deed["error"]), FACTS);
        return responseTo(packet, { ...FACTS, result: { ...packet.payload, principal: caller.principal ?? null } });
      },
      async close() {
        session.closed = true;
        for (const one of mine.values()) one.cancel();
      },
    };
  };

  return {
    sessions,
    get held() {
      return held.size;
    },
    get cancelled() {
      return cancelled;
    },
    release() {
      for (const one of held) one.answer();
    },
    progress(value) {
      for (const one of held) one.progress(value);
    },
    open,
  };
}

function refusal(type: Json | undefined): PacketError {
  if (type === "rate_limited") return new PacketError("rate_limited", "Too soon.", { limit: 1, used: 1, reset: 2.5 });
  return new PacketError(type === "unauthorized" ? "unauthorized" : "execution_failed", "It could not.");
}

/** A request as text. */
export const packet = (id: string, payload: Json = {}, more: Readonly<Record<string, Json>> = {}): string =>
  JSON.stringify({
    version: "1.0",
    type: "capability_request",
    id,
    capability_id: "echo",
    payload,
    context: { trace_id: `t-${id}` },
    ...more,
  });

/** The fields of a reply that tests check. */
export interface ReplySummary {
  readonly type: string;
  readonly id?: string;
  readonly payload: Readonly<Record<string, Json>>;
  readonly error?: string;
  readonly text: string;
}

export function replyIn(text: string): ReplySummary {
  const value: Json = JSON.parse(text);
  if (!isJsonObject(value) || typeof value["type"] !== "string" || !isJsonObject(value["payload"] ?? null))
    throw new Error(`no packet: ${text.slice(0, 200)}`);
  const { type, id, payload = {} } = value;
  const error = isJsonObject(payload) ? payload["error"] : undefined;
  return {
    type,
    ...(typeof id === "string" ? { id } : {}),
    payload: isJsonObject(payload) ? payload : {},
    ...(isJsonObject(error) && typeof error["type"] === "string" ? { error: error["type"] } : {}),
    text,
  };
}
