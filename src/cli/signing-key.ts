import type { KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { signingKey } from "../core/chain/index.ts";
import { stripBom } from "../core/contract/internal.ts";
import { usage } from "./exit-code.ts";
import { whyUnreadable } from "./text-file.ts";

const MOST_BYTES = 65_536;

/**
 * The Ed25519 private key in a PEM file. Read by the process that signs, a running server too: so no key goes over a
 * socket, whoever answers there.
 */
export const signingKeyIn = async (path: string): Promise<KeyObject> => {
  const pem = await read(path);
  try {
    return signingKey(pem);
  } catch {
    throw usage(
      `${path} holds no Ed25519 private key in PEM without a passphrase: make one with "openssl genpkey -algorithm ed25519 -out key.pem".`,
    );
  }
};

const read = async (path: string): Promise<string> => {
  try {
    // Without waiting: of a pipe the server would wait for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (found.isFile() && found.size <= MOST_BYTES) return stripBom(await file.readFile("utf8"));
  } catch (error) {
    throw usage(`The key ${path} cannot be read: ${whyUnreadable(error)}. To make one: openssl genpkey -algorithm ed25519 -out key.pem.`);
  }
  throw usage(`The key ${path} is not a file of at most ${MOST_BYTES} bytes: name the file itself.`);
};
