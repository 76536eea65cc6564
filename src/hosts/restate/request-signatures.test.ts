import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { describe, test } from "node:test";
import { SimulatedClock } from "../../testing/index.ts";
import { keyText } from "./key-text.fixture.ts";
import { RequestSignatures } from "./request-signatures.ts";

const PATH = "/invoke/actor-tally/turn";
const SECONDS = 1_700_000_000;

const server = generateKeyPairSync("ed25519");
const stranger = generateKeyPairSync("ed25519");
const kid = keyText(server.publicKey);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

interface TokenFields {
  readonly head?: object;
  readonly claims?: object;
  readonly by?: typeof server.privateKey;
}

function token({ head = {}, claims = {}, by = server.privateKey }: TokenFields = {}): string {
  const header = `${part({ typ: "JWT", alg: "EdDSA", kid, ...head })}.${part({ aud: PATH, nbf: SECONDS - 60, iat: SECONDS, exp: SECONDS + 60, ...claims })}`;
  return `${header}.${sign(undefined, Buffer.from(header), by).toString("base64url")}`;
}

const headers = (text: string, scheme = "v1"): Record<string, string> => ({
  "x-restate-signature-scheme": scheme,
  "x-restate-jwt-v1": text,
});

describe("a request's signature", () => {
  const made = (now = SECONDS * 1_000): { readonly clock: SimulatedClock; readonly signatures: RequestSignatures } => {
    const clock = new SimulatedClock(now);
    return { clock, signatures: new RequestSignatures([kid], clock) };
  };

  test("is the server's, for its path, again and again", () => {
    const { signatures } = made();
    for (let n = 0; n < 3; n += 1) assert.equal(signatures.isSigned(PATH, headers(token())), true);
    assert.equal(signatures.isSigned(PATH, headers(token({ claims: { iat: SECONDS + 1 } }))), true);
  });

  test("is verified once for each actor of a path, however many there are, and for no other path", () => {
    const { signatures } = made();
    const all = Array.from({ length: 1_001 }, (_, n) => headers(token({ claims: { sub: `${n}` } })));
    for (let round = 0; round < 2; round += 1) for (const one of all) assert.equal(signatures.isSigned(PATH, one), true);
    for (const one of all.slice(-2)) assert.equal(signatures.isSigned("/invoke/actor-other/turn", one), false);
  });

  test("is valid for its time only, also if it was valid before", async () => {
    const { signatures, clock } = made((SECONDS - 61) * 1_000);
    const text = headers(token());
    assert.equal(signatures.isSigned(PATH, text), false, "not yet");
    await clock.advance(1_000);
    assert.equal(signatures.isSigned(PATH, text), true);
    await clock.advance(119_000);
    assert.equal(signatures.isSigned(PATH, text), true);
    await clock.advance(1_000);
    assert.equal(signatures.isSigned(PATH, text), false, "no more");
  });

  const good = token();
  const [head = "", claims = "", signature = ""] = good.split(".");
  const wrong: Readonly<Record<string, Record<string, string>>> = {
    none: {},
    "of another scheme": headers(good, "unsigned"),
    "of another key": headers(token({ by: stranger.privateKey })),
    "of a key that is not known": headers(token({ head: { kid: keyText(stranger.publicKey) }, by: stranger.privateKey })),
    "of no key": headers(token({ head: { kid: undefined } })),
    "of another kind": headers(token({ head: { alg: "none" } })),
    "for another path": headers(token({ claims: { aud: "/invoke/actor-other/turn" } })),
    "for ever": headers(token({ claims: { exp: undefined } })),
    "since ever": headers(token({ claims: { nbf: "0" } })),
    "with other claims": headers(`${head}.${part({ aud: PATH, nbf: 0, exp: SECONDS + 9_000 })}.${signature}`),
    "not there": headers(`${head}.${claims}.`),
    "no token": headers("none"),
    empty: headers(""),
  };
  for (const [what, sent] of Object.entries(wrong))
    test(`that is ${what} is invalid`, () => {
      const { signatures } = made();
      assert.equal(signatures.isSigned(PATH, headers(good)), true);
      assert.equal(signatures.isSigned(PATH, sent), false);
    });

  test("is invalid if the key is invalid", () => {
    for (const key of ["", "publickeyv1_", "publickeyv1_0OIl", `publickeyv1_${"z".repeat(60)}`, kid.slice("publickeyv1_".length)])
      assert.equal(
        new RequestSignatures([key], new SimulatedClock(SECONDS * 1_000)).isSigned(PATH, headers(token({ head: { kid: key } }))),
        false,
        key,
      );
  });
});
