// Owns: stories of parts that are filled in.
import { useSignal } from "@preact/signals";
import type { About } from "../../src/bridges/console/shapes.ts";
import type { JsonObject } from "../../src/core/contract/index.ts";
import { CodeEditor } from "../src/ui/code-editor.tsx";
import { JsonEditor } from "../src/ui/json-editor.tsx";
import { check, NO_MISTAKES, SchemaForm } from "../src/ui/schema-form.tsx";
import { Snippets } from "../src/ui/snippets.tsx";
import { ViewerPicker } from "../src/ui/viewer-picker.tsx";
import { useViewer } from "../src/viewer.ts";
import type { Stories } from "./main.tsx";

const SCHEMA: JsonObject = {
  type: "object",
  required: ["title", "severity", "when"],
  properties: {
    title: { type: "string", minLength: 1, description: "What happened" },
    severity: { type: "integer", minimum: 1, maximum: 3, default: 2 },
    status: { enum: ["open", "resolved"] },
    urgent: { type: "boolean" },
    when: { type: "string", format: "date-time" },
    tags: { type: "array", items: { type: "string" } },
    place: { type: "object", properties: { room: { type: "string" }, floor: { type: "integer" } } },
    by: { oneOf: [{ type: "string" }, { type: "object", properties: { id: { type: "integer" } } }] },
    anything: {},
  },
};

const ABOUT: About = {
  name: "desk",
  version: "1.0.0",
  engine: "sqlite",
  mode: "live",
  development: true,
  can: [],
  cannot: {},
  kinds: [],
  mcp: "/mcp",
  docs: "",
};

const sqlLanguage = async () => (await import("../src/ui/code-editor/sql.ts")).sqlLanguage({ actors: ["id", "kind", "status"] });

export const formStories: Stories = {
  "Schema form": function Form() {
    const value = useSignal<JsonObject>({ tags: ["fire", "roof"], place: { room: "12" } });
    return (
      <SchemaForm schema={SCHEMA} value={value.value} onChange={(next) => (value.value = next)} mistakes={check(SCHEMA, value.value)} />
    );
  },
  "Schema form without fields": () => (
    <SchemaForm schema={{ type: "object" }} value={{}} onChange={() => undefined} mistakes={NO_MISTAKES} />
  ),
  "JSON editor": function Editor() {
    const text = useSignal('{\n  "title": "The torch",\n  "count": 12,\n  "open": true,\n  "none": null\n}');
    return <JsonEditor label="State" value={text.value} onChange={(next) => (text.value = next)} />;
  },
  "JSON editor with a mistake": function Mistaken() {
    const text = useSignal('{\n  "title": \n}');
    return <JsonEditor label="Arguments" value={text.value} onChange={(next) => (text.value = next)} />;
  },
  "SQL editor": function Editor() {
    const text = useSignal("SELECT kind, count(*) AS actors -- a comment\nFROM actors WHERE status = 'live' GROUP BY kind LIMIT 10");
    return <CodeEditor label="Query" value={text.value} onChange={(next) => (text.value = next)} language={sqlLanguage} />;
  },
  "JSON editor, read only": () => <JsonEditor label="An event" value='{ "seq": 1 }' readOnly lines={2} />,
  "Viewer picker": function Picker() {
    return <ViewerPicker viewer={useViewer()} principals={["ann", "bo"]} />;
  },
  Snippets: () => (
    <Snippets
      about={ABOUT}
      call={{
        actor: "desk/main",
        offer: { ref: "tools/report", list: "tools", name: "report", definition: {} },
        input: { offer: "tools/report", arguments: { title: "It's on fire", severity: 1 } },
      }}
    />
  ),
};
