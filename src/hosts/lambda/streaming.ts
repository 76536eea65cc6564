import { TroupeError, untilAborted } from "../../core/contract/index.ts";
import { Front, type Served } from "./front.ts";
import { headOf } from "./head.ts";
import { endsWhole, lastWords } from "./last-words.ts";
import { LambdaRefusal } from "./refusal.ts";
import type { AwsLambda, LambdaServer, ResponseStream, StreamHandler, StreamingOptions, StreamMetadata } from "./options.ts";

/**
 * For REST APIs whose integration streams (`STREAM`) and function URLs that do (`RESPONSE_STREAM`): bytes leave as they come, while
 * the handler runs. Source: https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html. Throws `DOOR_OPTION`.
 */
export function streamingHandler(server: LambdaServer, options: StreamingOptions = {}): StreamHandler {
  const aws = options.awslambda ?? globalAwsLambda();
  const front = new Front(server, options);
  const streams = options.standaloneStreams === true ? "all" : "resumed";
  return aws.streamifyResponse(async (event, stream, context) => {
    const served = await front.serve(event, context, streams);
    try {
      await handOver(served, aws.HttpResponseStream.from(stream, metadataOf(served)));
    } finally {
      served.end();
    }
  });
}

function metadataOf({ arrived, response }: Served): StreamMetadata {
  const { headers, cookies } = headOf(response);
  const several = arrived?.kind === "rest" ? { multiValueHeaders: { "set-cookie": cookies } } : { cookies };
  return { statusCode: response.status, headers, ...(cookies.length === 0 ? {} : several) };
}

/** Settles when all was written, or nobody is left to read it. */
async function handOver({ arrived, response, signal, leave }: Served, out: ResponseStream): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const lost = (): void => {
    leave();
    gone.resolve();
  };
  out.on("error", lost);
  out.on("close", lost);
  // Status and headers go with the first write, and a body may have none, or be long in coming.
  out.write("");
  if (response.body !== null) {
    const reader = response.body.getReader();
    try {
      if (arrived?.method !== "HEAD") await Promise.race([gone.promise, pump(reader, out, signal)]);
    } catch (error) {
      // The client has left, the time is over, or the body has failed: what was written stands.
      if (error instanceof LambdaRefusal) out.write(lastWords(arrived, response, error) ?? "");
    } finally {
      void reader.cancel().catch(() => undefined);
    }
  }
  await Promise.race([gone.promise, ended(out)]);
}

async function pump(reader: ReadableStreamDefaultReader<Uint8Array>, out: ResponseStream, signal: AbortSignal): Promise<void> {
  let written: Uint8Array | undefined;
  try {
    for (;;) {
      const { done, value } = await untilAborted(signal, () => reader.read());
      if (done) return;
      if (value.byteLength > 0) written = value;
      if (!out.write(value)) await untilAborted(signal, () => drained(out));
    }
  } catch (error) {
    // Within an event no other can be written.
    throw endsWhole(written) ? error : new Error("The body ended within an event.", { cause: error });
  }
}

function drained(out: ResponseStream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      out.off("drain", done);
      resolve();
    };
    out.on("drain", done);
  });
}

function ended(out: ResponseStream): Promise<void> {
  return new Promise((resolve) => {
    out.end(resolve);
  });
}

function globalAwsLambda(): AwsLambda {
  const found: unknown = Reflect.get(globalThis, "awslambda");
  if (isAwsLambda(found)) return found;
  throw new TroupeError(
    "DOOR_OPTION",
    "There is no awslambda here: streaming needs a Node.js runtime of Lambda. Elsewhere use bufferedHandler, or give awslambda.",
  );
}

function isAwsLambda(value: unknown): value is AwsLambda {
  return (
    typeof value === "object" &&
    value !== null &&
    "streamifyResponse" in value &&
    typeof value.streamifyResponse === "function" &&
    "HttpResponseStream" in value &&
    value.HttpResponseStream !== undefined
  );
}
