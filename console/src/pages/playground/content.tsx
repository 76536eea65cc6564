// Owns: drawing the content of results: text, images, links, resources, structured values. All of it is data from a server: it is never
// HTML, and nothing of it is loaded.
import { Link } from "wouter-preact";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import { listIn, objectIn, textIn } from "../../json.ts";
import { JsonTree } from "../../ui/json-tree.tsx";
import { bytes } from "../../ui/time.tsx";
import { callPath } from "./saved.ts";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"]);

/** Of tools (`content`, `structuredContent`), prompts (`messages`) and resources (`contents`). */
export function ResultContent({ result }: { readonly result: JsonObject }) {
  const { structuredContent: structured } = result;
  const same = structured === undefined ? undefined : JSON.stringify(structured);
  return (
    <>
      {structured === undefined ? null : <JsonTree label="Structured result" value={structured} />}
      {numbered(listIn(result, "content")).map(([key, block]) =>
        // Servers repeat a structured result as text for older clients.
        same !== undefined && sameJson(textIn(block, "text"), same) ? null : <Block key={key} block={block} />,
      )}
      {numbered(listIn(result, "messages")).map(([key, message]) => (
        <figure key={key} class="message">
          <figcaption class="dim">{textIn(message, "role")}</figcaption>
          <Block block={objectIn(message, "content")} />
        </figure>
      ))}
      {numbered(listIn(result, "contents")).map(([key, content]) => (
        <Contents key={key} content={content} />
      ))}
    </>
  );
}

/** A result never changes, so the place of a block is its key. */
const numbered = (blocks: readonly JsonObject[]): readonly (readonly [string, JsonObject])[] =>
  blocks.map((block, index) => [`${index}`, block]);

function sameJson(text: string | undefined, json: string): boolean {
  try {
    return text !== undefined && JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
}

function Block({ block }: { readonly block: JsonObject }) {
  const type = textIn(block, "type");
  const [data, mimeType] = [textIn(block, "data"), textIn(block, "mimeType") ?? ""];
  if (type === "text") return <TextOrJson text={textIn(block, "text") ?? ""} />;
  if ((type === "image" || type === "audio") && data !== undefined) return <Bytes data={data} mimeType={mimeType} name={type} />;
  if (type === "resource_link") {
    const uri = textIn(block, "uri") ?? "";
    return (
      <p>
        <Link href={callPath({ kind: "resource", name: uri })}>{textIn(block, "title") ?? textIn(block, "name") ?? uri}</Link>{" "}
        <small class="dim">{textIn(block, "description") ?? uri}</small>
      </p>
    );
  }
  if (type === "resource") return <Contents content={objectIn(block, "resource")} />;
  return <JsonTree label="Content" value={block} />;
}

function Contents({ content }: { readonly content: JsonObject }) {
  const [uri, text, blob] = [textIn(content, "uri"), textIn(content, "text"), textIn(content, "blob")];
  const mimeType = textIn(content, "mimeType") ?? "";
  return (
    <figure class="message">
      <figcaption class="dim">
        <code>{uri}</code> {mimeType}
      </figcaption>
      {blob !== undefined ? <Bytes data={blob} mimeType={mimeType} name={uri ?? "resource"} /> : <TextOrJson text={text ?? ""} />}
    </figure>
  );
}

function TextOrJson({ text }: { readonly text: string }) {
  const value = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  return value === undefined ? <pre class="text">{text}</pre> : <JsonTree label="Text, as JSON" value={value} />;
}

function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** As an image where it is one of those that run no scripts; otherwise to be saved. */
function Bytes({ data, mimeType, name }: { readonly data: string; readonly mimeType: string; readonly name: string }) {
  const href = `data:${IMAGES.has(mimeType) ? mimeType : "application/octet-stream"};base64,${data}`;
  const size = bytes(Math.floor((data.length * 3) / 4));
  return (
    <figure class="bytes">
      {IMAGES.has(mimeType) ? <img src={href} alt={`${name}, ${size}`} /> : null}
      <figcaption class="dim">
        {mimeType === "" ? "Bytes" : mimeType}, {size}{" "}
        <a href={href} download={name.replace(/[^\w.-]+/g, "_")}>
          Save
        </a>
      </figcaption>
    </figure>
  );
}
