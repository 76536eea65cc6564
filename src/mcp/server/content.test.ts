import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOB, CONTENT } from "../../core/contract/index.ts";
import { audio, blob, content, contents, embeddedResource, failure, image, message, messages, resourceLink, text } from "./index.ts";

const bytes = new Uint8Array([1, 2, 255]);

test("each kind of block has MCP's format, bytes as base64", () => {
  assert.deepEqual(text("a", { annotations: { audience: ["user"] } }), { type: "text", text: "a", annotations: { audience: ["user"] } });
  assert.deepEqual(image(bytes, "image/png"), { type: "image", data: "AQL/", mimeType: "image/png" });
  assert.deepEqual(audio("AQL/", "audio/wav", { _meta: { a: 1 } }), {
    type: "audio",
    data: "AQL/",
    mimeType: "audio/wav",
    _meta: { a: 1 },
  });
  assert.deepEqual(resourceLink({ uri: "a://b", name: "b", size: 3 }), { type: "resource_link", uri: "a://b", name: "b", size: 3 });
  assert.deepEqual(embeddedResource({ uri: "a://b", mimeType: "text/plain", text: "t" }), {
    type: "resource",
    resource: { uri: "a://b", mimeType: "text/plain", text: "t" },
  });
  assert.deepEqual(embeddedResource({ uri: "a://b", blob: bytes }), { type: "resource", resource: { uri: "a://b", blob: "AQL/" } });
  const large = new Uint8Array(100_000).fill(7);
  assert.equal(image(large, "image/png")["data"], Buffer.from(large).toString("base64"));
});

test("results, failures, contents and messages", () => {
  assert.deepEqual(content(["a", image(bytes, "image/png")], { n: 1 }), {
    [CONTENT]: [
      { type: "text", text: "a" },
      { type: "image", data: "AQL/", mimeType: "image/png" },
    ],
    structured: { n: 1 },
  });
  assert.deepEqual(failure("Too slow."), { [CONTENT]: [{ type: "text", text: "Too slow." }], isError: true });
  assert.deepEqual(blob(bytes), { [BLOB]: "AQL/" });
  assert.deepEqual(contents([{ uri: "a://b", text: "t" }]), { [CONTENT]: [{ type: "resource", resource: { uri: "a://b", text: "t" } }] });
  assert.deepEqual(messages([message("user", "Hi."), message("assistant", text("Ho."))], "Talk."), {
    messages: [
      { role: "user", content: { type: "text", text: "Hi." } },
      { role: "assistant", content: { type: "text", text: "Ho." } },
    ],
    description: "Talk.",
  });
});
