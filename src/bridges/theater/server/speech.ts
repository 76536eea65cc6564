import {
  type Answer,
  type Codec,
  type Command,
  printResponse,
  readCommand,
  type Response,
  WireError,
  type WireReader,
  type WireValue,
  WireWriter,
} from "../wire/index.ts";
import type { TheaterLimits } from "./options.ts";

/** Encodes responses to one client in the codec that the client uses. */
export class ResponseEncoder {
  readonly #reader: WireReader;
  readonly #limits: TheaterLimits;
  readonly #writer: WireWriter;

  constructor(reader: WireReader, limits: TheaterLimits) {
    this.#reader = reader;
    this.#limits = limits;
    this.#writer = new WireWriter(limits);
  }

  /** Undefined if the response is too long to send. */
  frames(response: Response): readonly Uint8Array[] | undefined {
    try {
      return this.#writer.frames(printResponse(response, this.#codec), this.#codec);
    } catch (error) {
      if (error instanceof WireError) return undefined;
      throw error;
    }
  }

  /** The answer, or an error if it is too long to send. */
  answer(answer: Answer): readonly Uint8Array[] {
    const maxBytes = this.#codec === "raw" ? this.#limits.frameBytes : this.#limits.messageBytes;
    const message = `The answer is longer than the ${maxBytes} bytes that are sent at once: ask for less, or over MCP, by pages.`;
    return this.frames(answer) ?? this.frames({ is: "Error", fault: { code: "SerializationError", message } }) ?? [];
  }

  get #codec(): Codec {
    return this.#reader.codec ?? "raw";
  }
}

/** The command in a message, or its error. */
export function parseCommand(message: WireValue | WireError): Command | WireError {
  if (message instanceof WireError) return message;
  try {
    return readCommand(message);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}
