import { untilAborted } from "../../core/contract/index.ts";
import { answerMax, answerOf, type LambdaAnswer, tooLarge } from "./answer.ts";
import type { LambdaContext } from "./arrived.ts";
import { Front, type Served } from "./front.ts";
import type { LambdaOptions, LambdaServer } from "./options.ts";

/**
 * For REST APIs, HTTP APIs, function URLs and load balancers that take whole answers: what a tool tells while it runs comes
 * with its reply. An answer over 6 MiB (a load balancer's 1 MiB) is an error that says so. Throws `DOOR_OPTION`.
 */
export function bufferedHandler(
  server: LambdaServer,
  options: LambdaOptions = {},
): (event: unknown, context?: LambdaContext) => Promise<LambdaAnswer> {
  const front = new Front(server, options);
  return async (event, context) => {
    const served = await front.serve(event, context, "none");
    const { arrived, response } = served;
    try {
      return answerOf(response, await whole(served, arrived?.method === "HEAD"), arrived);
    } catch (error) {
      return answerOf(...(await refused(front.refusal(error, arrived).response())), arrived);
    } finally {
      served.end();
    }
  };
}

const refused = async (response: Response): Promise<[Response, Uint8Array]> => [response, new Uint8Array(await response.arrayBuffer())];

async function whole({ arrived, response, signal }: Served, head: boolean): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const max = answerMax(arrived);
  const reader = response.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  if (head) {
    leave();
    return new Uint8Array();
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await untilAborted(signal, () => reader.read());
      if (done) return Buffer.concat(pieces, size);
      size += value.byteLength;
      if (size > max) throw tooLarge(max);
      pieces.push(value);
    }
  } catch (error) {
    leave();
    throw error;
  }
}
