import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { resolve } from "node:path";
import { TroupeError } from "../../core/contract/index.ts";

// What the kernel's address structure holds, its closing zero left out.
const PATH_BYTES = process.platform === "darwin" ? 103 : 107;

const codeOf = (error: unknown): unknown => (typeof error === "object" && error !== null && "code" in error ? error.code : undefined);

function listening(server: Server, path: string): Promise<void> {
  return new Promise((done, failed) => {
    const onError = (error: unknown): void => {
      server.off("listening", onListening);
      failed(error);
    };
    const onListening = (): void => {
      server.off("error", onError);
      done();
    };
    server.once("error", onError);
    server.once("listening", onListening);
    // The file must never be open to others, not even between its making and its chmod.
    const mask = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(mask);
    }
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((done) => {
    const probe = connect({ path });
    probe.once("connect", () => {
      probe.destroy();
      done(true);
    });
    probe.once("error", (error) => done(codeOf(error) !== "ECONNREFUSED" && codeOf(error) !== "ENOENT"));
  });
}

/** Listens at a path only its owner may open (0600). A socket nobody answers at is replaced; anything else is left alone. */
export async function listenAtPath(server: Server, given: string): Promise<string> {
  const path = resolve(given);
  if (Buffer.byteLength(path) > PATH_BYTES) {
    throw new TroupeError("DOOR_ADDRESS", `The socket's path ${path} is longer than ${PATH_BYTES} bytes: choose a shorter one.`);
  }
  try {
    await listening(server, path);
  } catch (cause) {
    if (codeOf(cause) !== "EADDRINUSE") {
      throw new TroupeError(
        "DOOR_ADDRESS",
        `Cannot listen at ${path} (${String(codeOf(cause))}): the directory must exist and be writable.`,
        { cause },
      );
    }
    if (!lstatSync(path).isSocket()) {
      throw new TroupeError("DOOR_ADDRESS", `${path} is not a socket and was left alone: choose another path.`, { cause });
    }
    if (await answers(path)) {
      throw new TroupeError("DOOR_ADDRESS", `Another process answers at ${path}: stop it or choose another path.`, { cause });
    }
    unlinkSync(path);
    await listening(server, path);
  }
  chmodSync(path, 0o600);
  return path;
}
