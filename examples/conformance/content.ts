import { actor, blob, content, refuse } from "troupe";

// The smallest possible PNG and WAV: one pixel, no samples.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const image = { type: "image", data: PNG, mimeType: "image/png" };

/** A JSON Schema 2020-12 with keywords that servers often drop. They must reach the client unchanged. */
const contact = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** Every kind of content a result can have. */
export const contents = actor("contents", {
  description: "What results are made of.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    test_simple_text: { description: "Returns text.", view: () => "This is a simple text response for testing." },
    test_image_content: { description: "Returns an image.", view: () => content([image]) },
    test_audio_content: { description: "Returns a sound.", view: () => content([{ type: "audio", data: WAV, mimeType: "audio/wav" }]) },
    test_embedded_resource: {
      description: "Returns an embedded resource.",
      view: () =>
        content([
          {
            type: "resource",
            resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." },
          },
        ]),
    },
    test_multiple_content_types: {
      description: "Returns several kinds of content.",
      view: () =>
        content([
          "Multiple content types test:",
          image,
          {
            type: "resource",
            resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' },
          },
        ]),
    },
    test_error_handling: {
      description: "Always fails.",
      run: (): string => refuse("This tool intentionally returns an error for testing"),
    },
    json_schema_2020_12_tool: {
      description: "Tool with JSON Schema 2020-12 features",
      input: contact,
      view: ({ args }) => JSON.stringify(args),
    },
    test_x_mcp_header: {
      description: "Repeats an argument in a header.",
      input: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
      view: ({ args }) => JSON.stringify(args),
    },
  },
  resources: {
    text: {
      uri: "test://static-text",
      description: "Text.",
      mimeType: "text/plain",
      view: () => "This is the content of the static text resource.",
    },
    binary: { uri: "test://static-binary", description: "Bytes.", mimeType: "image/png", view: () => blob(PNG) },
    template: {
      uri: "test://template/{id}/data",
      description: "One of many.",
      mimeType: "application/json",
      view: ({ args }) => ({ id: args.id, templateTest: true, data: `Data for ID: ${args.id}` }),
    },
    watched: { uri: "test://watched-resource", description: "Can be subscribed to.", mimeType: "text/plain", view: () => "Watched." },
  },
  prompts: {
    test_simple_prompt: { description: "A prompt.", view: () => "This is a simple prompt for testing." },
    test_prompt_with_arguments: {
      description: "A prompt with arguments.",
      arguments: [
        { name: "arg1", description: "First test argument", required: true },
        { name: "arg2", description: "Second test argument", required: true },
      ],
      view: ({ args }) => `Prompt with arguments: arg1='${args["arg1"] ?? ""}', arg2='${args["arg2"] ?? ""}'`,
    },
    test_prompt_with_embedded_resource: {
      description: "A prompt with a resource in it.",
      arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
      view: ({ args }) => ({
        messages: [
          {
            role: "user",
            content: {
              type: "resource",
              resource: { uri: args["resourceUri"] ?? "", mimeType: "text/plain", text: "Embedded resource content for testing." },
            },
          },
          { role: "user", content: { type: "text", text: "Please process the embedded resource above." } },
        ],
      }),
    },
    test_prompt_with_image: {
      description: "A prompt with an image in it.",
      view: () => ({
        messages: [
          { role: "user", content: image },
          { role: "user", content: { type: "text", text: "Please analyze the image above." } },
        ],
      }),
    },
  },
});
