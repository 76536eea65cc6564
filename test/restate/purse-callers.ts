import type { Receipt } from "../../src/core/contract/index.ts";
import { connect, type Player, type Which } from "../clients.ts";
import { at, type HttpAnswer, isJsonObject, modern, opened, resumed } from "../wire.ts";
import type { Act } from "./purse-acts.ts";

/** What a tool told. */
export interface Answered {
  readonly refused: boolean;
  readonly text: string;
  readonly receipt?: Receipt;
}

/** Somebody who calls tools at any node. Throws where no answer came: the same call is then made again, at another node. */
export interface PurseCaller extends AsyncDisposable {
  /** The call's name is the act's. */
  call(url: string, act: Act): Promise<Answered>;
}

const receiptIn = (receipt: unknown): Pick<Answered, "receipt"> => {
  if (!isJsonObject(receipt)) return {};
  const { actor, seq, head } = receipt;
  if (typeof actor !== "string" || typeof seq !== "number" || typeof head !== "string") return {};
  const [kind, key] = actor.split("/");
  return { receipt: { actor: `${kind ?? ""}/${key ?? ""}`, seq, head } };
};

const answered = ({ status, reply }: HttpAnswer): Answered => {
  const result = at(reply, "result");
  if (!isJsonObject(result)) throw new Error(`${status} ${JSON.stringify(reply)}`);
  return {
    refused: result["isError"] === true,
    text: String(at(result, "content", 0, "text")),
    ...receiptIn(at(result, "_meta", "troupe/receipt")),
  };
};

/** A client of 2026-07-28 that names its calls by a header. */
export const modernCaller = (headers: Readonly<Record<string, string>>): PurseCaller => ({
  call: async (url, { tool, args, op }) =>
    answered(await modern(url, "tools/call", { name: tool, arguments: args }, { ...headers, "idempotency-key": op })),
  [Symbol.asyncDispose]: async () => undefined,
});

/** A legacy client that goes to any node with the session it has, and opens another where that is unknown. */
export const legacyCaller = (headers: Readonly<Record<string, string>>): PurseCaller => {
  let session: string | undefined;
  return {
    async call(url, { tool, args, op }) {
      session ??= (await opened(url, headers)).id;
      const answer = await resumed(url, session, headers).request("tools/call", { name: tool, arguments: args }, { "idempotency-key": op });
      if (answer.status === 404) session = undefined;
      return answered(answer);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
};

/** An official client that stays at its node as long as that answers. */
export const officialCaller = (which: Which, headers: Readonly<Record<string, string>>): PurseCaller => {
  let player: Player | undefined;
  let place = "";
  const leave = async (): Promise<void> => {
    const left = player;
    player = undefined;
    try {
      await left?.[Symbol.asyncDispose]();
    } catch {
      // Its node may be gone, and then it cannot say goodbye.
    }
  };
  return {
    async call(url, { tool, args, op }) {
      try {
        if (player === undefined) {
          player = await connect({ http: url }, which, { headers });
          place = url;
        }
        const { isError, text, meta } = await player.call(tool, args, { callId: op });
        return { refused: isError, text, ...receiptIn(meta["troupe/receipt"]) };
      } catch (cause) {
        await leave();
        throw new Error(`${place} did not answer`, { cause });
      }
    },
    [Symbol.asyncDispose]: leave,
  };
};
