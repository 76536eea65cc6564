// Owns: opening a listening socket safely, and ending a connection that was refused.
import { type Server, connect, isIPv4 } from "node:net";
import { TroupeError, type Clock } from "../../core/contract/index.ts";
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { resolve } from "node:path";
import type { Duplex } from "node:stream";

/** A name or address that only this machine reaches. */
export function isLoopback(name: string): boolean {
  const bare = name.toLowerCase().replace(/^\[|\]$/g, "");
  if (bare === "localhost" || bare === "::1" || bare === "0:0:0:0:0:0:0:1") return true;
  const v4 = bare.startsWith("::ffff:") ? bare.slice(7) : bare;
  return isIPv4(v4) && v4.startsWith("127.");
}

/** `host:port`, an IPv6 address in brackets. */
export const authority = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there: stop it, or choose another port (0 for a free one)",
  EACCES: "this user may not: choose a port above 1023",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such name",
};

/** Listens at a host and port; returns the port, which differs if 0 was requested. */
export function listenAt(server: Server, host: string, port: number): Promise<number> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TroupeError("BAD_OPTION", `${port} is not a port: give 0 to 65535.`);
  }
  return new Promise((done, failed) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const why = WHY[cause.code ?? ""] ?? cause.code ?? cause.name;
      failed(new TroupeError("BAD_ADDRESS", `Cannot listen at ${authority(host, port)}: ${why}.`, { cause }));
    };
    server.once("error", onError);
    server.listen({ host, port }, () => {
      server.off("error", onError);
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Throws `UNSAFE_LISTENER` for a server without authentication that other machines can reach. */
export function refuseOpenListener(listener: string, host: string, authenticated: boolean, insecure: boolean): void {
  if (authenticated || insecure || isLoopback(host)) return;
  throw new TroupeError(
    "UNSAFE_LISTENER",
    `${listener} on ${host} would be open to everybody who reaches this machine: give it authentication ` +
      "(API keys or an issuer: `auth`, or --api-keys, or --jwks and --issuer on the command line), listen on 127.0.0.1, or say `insecure: true` " +
      "(--insecure on the command line) when something in front of it authenticates.",
  );
}

// The length of the kernel's address structure, without the final zero.
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
    // The file must never be accessible to others, not even between its creation and its chmod.
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

/** Listens at a path that only its owner may open (0600). Replaces a socket without a listener; any other file is an error. */
export async function listenAtPath(server: Server, given: string): Promise<string> {
  const path = resolve(given);
  if (Buffer.byteLength(path) > PATH_BYTES) {
    throw new TroupeError("BAD_ADDRESS", `The socket's path ${path} is longer than ${PATH_BYTES} bytes: choose a shorter one.`);
  }
  try {
    await listening(server, path);
  } catch (cause) {
    if (codeOf(cause) !== "EADDRINUSE") {
      throw new TroupeError(
        "BAD_ADDRESS",
        `Cannot listen at ${path} (${String(codeOf(cause))}): the directory must exist and be writable.`,
        { cause },
      );
    }
    if (!lstatSync(path).isSocket()) {
      throw new TroupeError("BAD_ADDRESS", `${path} is not a socket and was left alone: choose another path.`, { cause });
    }
    if (await answers(path)) {
      throw new TroupeError("BAD_ADDRESS", `Another process answers at ${path}: stop it or choose another path.`, { cause });
    }
    unlinkSync(path);
    await listening(server, path);
  }
  chmodSync(path, 0o600);
  return path;
}

const LAST_WORDS_MS = 1_000;

/**
 * Ends a refused connection after the answer, if any. What the client still sends is discarded, since unread bytes would reset the
 * connection and lose the answer. A client that does not close its side is cut off after a second.
 */
export function endRefused(socket: Duplex, clock: Clock, answer = ""): void {
  if (socket.destroyed) return;
  socket.resume();
  socket.end(answer);
  const undo = clock.after(LAST_WORDS_MS, () => void socket.destroy());
  socket.once("close", undo);
}
