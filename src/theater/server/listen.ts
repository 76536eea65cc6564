import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect, isIPv4, type ListenOptions, type Server } from "node:net";
import { resolve } from "node:path";
import { TroupeError } from "../../contract/index.ts";

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there: stop it, or choose another",
  EACCES: "this user may not: choose another",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such name",
  ENOENT: "its directory does not exist",
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

const refused = (where: string, cause: unknown): TroupeError =>
  new TroupeError("DOOR_ADDRESS", `Cannot listen at ${where}: ${WHY[codeOf(cause) ?? ""] ?? codeOf(cause) ?? "unknown"}.`, { cause });

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((done, failed) => {
    server.once("error", failed);
    server.listen(options, () => {
      server.off("error", failed);
      done();
    });
  });
}

/** Whether only this machine reaches it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** The protocol knows no authentication: beyond loopback nobody is let in unasked. */
export function refuseOpenDoor(host: string, insecure: boolean): void {
  if (insecure || isLoopback(host)) return;
  throw new TroupeError(
    "DOOR_UNSAFE",
    `Theater's protocol has no authentication, and on ${host} everybody who reaches this machine could start and stop actors: ` +
      "listen on 127.0.0.1 or at a Unix socket, or say insecure (--insecure-no-auth on the command line) when something in front of it authenticates.",
  );
}

/** The URL of where it listens, and the port. */
export async function listenAt(server: Server, host: string, port: number): Promise<{ readonly url: string; readonly port: number }> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new TroupeError("DOOR_OPTION", `${port} is not a port: give 0 to 65535.`);
  const authority = (at: number): string => `${host.includes(":") ? `[${host}]` : host}:${at}`;
  try {
    await listening(server, { host, port });
  } catch (cause) {
    throw refused(authority(port), cause);
  }
  const address = server.address();
  const at = typeof address === "object" && address !== null ? address.port : port;
  return { url: `tcp://${authority(at)}`, port: at };
}

/** Listens at a path only its owner may open (0600). A socket nobody answers at is replaced; anything else is left alone. */
export async function listenAtPath(server: Server, given: string): Promise<{ readonly url: string; readonly port: number }> {
  const path = resolve(given);
  try {
    await listeningAlone(server, path);
  } catch (cause) {
    const stale = codeOf(cause) === "EADDRINUSE" && lstatSync(path).isSocket() && !(await answers(path));
    if (!stale) throw refused(path, cause);
    unlinkSync(path);
    await listeningAlone(server, path);
  }
  chmodSync(path, 0o600);
  return { url: `unix:${path}`, port: 0 };
}

async function listeningAlone(server: Server, path: string): Promise<void> {
  // The file must never be open to others, not even between its making and its chmod.
  const mask = process.umask(0o177);
  try {
    await listening(server, { path });
  } finally {
    process.umask(mask);
  }
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
