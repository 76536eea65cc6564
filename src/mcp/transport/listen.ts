import type { Server } from "node:net";
import { TroupeError } from "../../core/contract/index.ts";
import { authority, isLoopback } from "./address.ts";

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there: stop it, or choose another port (0 for a free one)",
  EACCES: "this user may not: choose a port above 1023",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such name",
};

/** Listens at a host and port; returns the port, which matters when 0 was asked for. */
export function listenAt(server: Server, host: string, port: number): Promise<number> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TroupeError("DOOR_OPTION", `${port} is not a port: give 0 to 65535.`);
  }
  return new Promise((done, failed) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const why = WHY[cause.code ?? ""] ?? cause.code ?? cause.name;
      failed(new TroupeError("DOOR_ADDRESS", `Cannot listen at ${authority(host, port)}: ${why}.`, { cause }));
    };
    server.once("error", onError);
    server.listen({ host, port }, () => {
      server.off("error", onError);
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Beyond this machine nobody is let in unasked. */
export function refuseOpenDoor(door: string, host: string, authenticated: boolean, insecure: boolean): void {
  if (authenticated || insecure || isLoopback(host)) return;
  throw new TroupeError(
    "DOOR_UNSAFE",
    `${door} on ${host} would be open to everybody who reaches this machine: give it authentication ` +
      "(API keys or an issuer: `auth`, or --api-keys, or --jwks and --issuer on the command line), listen on 127.0.0.1, or say `insecure: true` " +
      "(--insecure on the command line) when something in front of it authenticates.",
  );
}
