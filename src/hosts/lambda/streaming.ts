// Owns: `streamingHandler`, for platforms that take answers in chunks. Does not own: the way to a response (serve-event.ts).
import { checkOptions, TroupeError, untilAborted } from "../../core/contract/index.ts";
import {
  LAMBDA_OPTIONS,
  type AwsLambda,
  type LambdaServer,
  type ResponseStream,
  type StreamHandler,
  type StreamingOptions,
  type StreamMetadata,
} from "./options.ts";
import { endsWhole, lastEvent, LambdaRefusal } from "./refusals.ts";
import { EventServer, headOf, type ServedEvent } from "./serve-event.ts";

/**
 * For REST APIs with a streaming integration (`STREAM`) and function URLs (`RESPONSE_STREAM`): bytes are sent while the handler
 * runs. Source: https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html. Throws `BAD_OPTION`.
 */
export function streamingHandler(given: LambdaServer, options: StreamingOptions = {}): StreamHandler {
  checkOptions("streamingHandler", options, { ...LAMBDA_OPTIONS, standaloneStreams: true, awslambda: true });
  const aws = options.awslambda ?? globalAwsLambda();
  const server = new EventServer(given, options);
  const streams = options.standaloneStreams === true ? "all" : "resumed";
  return aws.streamifyResponse(async (event, stream, context) => {
    const served = await server.serve(event, context, streams);
    try {
      await writeResponse(served, aws.HttpResponseStream.from(stream, metadataOf(served)));
    } finally {
      served.end();
    }
  });
}

function metadataOf({ httpEvent, response }: ServedEvent): StreamMetadata {
  const { headers, cookies } = headOf(response);
  const several = httpEvent?.kind === "rest" ? { multiValueHeaders: { "set-cookie": cookies } } : { cookies };
  return { statusCode: response.status, headers, ...(cookies.length === 0 ? {} : several) };
}

/** Settles when all was written, or the client has disconnected. */
async function writeResponse({ httpEvent, response, signal, leave }: ServedEvent, out: ResponseStream): Promise<void> {
  const closed = Promise.withResolvers<void>();
  const onClose = (): void => {
    leave();
    closed.resolve();
  };
  out.on("error", onClose);
  out.on("close", onClose);
  // Status and headers are sent with the first write, and a body may be empty or take long.
  out.write("");
  if (response.body !== null) {
    const reader = response.body.getReader();
    try {
      if (httpEvent?.method !== "HEAD") await Promise.race([closed.promise, pump(reader, out, signal)]);
    } catch (error) {
      // The client has disconnected, the time is over, or the body has failed.
      if (error instanceof LambdaRefusal) out.write(lastEvent(httpEvent, response, error) ?? "");
    } finally {
      void reader.cancel().catch(() => undefined);
    }
  }
  await Promise.race([closed.promise, ended(out)]);
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
    // The last event is incomplete, so no other can follow.
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
    "BAD_OPTION",
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
