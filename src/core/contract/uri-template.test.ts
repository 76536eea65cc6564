import assert from "node:assert/strict";
import { UriPattern } from "./uri-template.ts";
import { test } from "node:test";

// Which URIs a template takes, and what its expressions stand for then.

const match = (template: string, uri: string, raw = true) => new UriPattern(template, raw).match(uri);

test("each expression matches what its operator allows; earlier ones are greedy", () => {
  const of = (template: string, uri: string) => match(template, uri)?.map(([, value]) => value);
  assert.deepEqual(match("file:///{+path}{?q,n}", "file:///a/b%20c?q=1&n=2"), [
    ["+path", "a/b%20c?q=1&n=2"],
    ["?q,n", ""],
  ]);
  assert.deepEqual(of("file:///{path}{?q}", "file:///a?q=1"), ["a", "?q=1"]);
  assert.deepEqual(of("file:///{path}{?q}", "file:///a"), ["a", ""]);
  assert.deepEqual(of("x:{/list*}{#part}", "x:/a/b#c/d"), ["/a/b", "#c/d"]);
  assert.deepEqual(of("x:{name}{.kind}{;flags}", "x:a.b.c;d=1"), ["a.b", ".c", ";d=1"]);
  assert.deepEqual(of("x:{a}-{b}", "x:1-2-3"), ["1-2", "3"]);
  for (const [template, uri] of [
    ["x:{a}", "x:"],
    ["x:{a}", "x:b/c"],
    ["x:{+a}/end", "x:/end"],
    ["x:{.kind}", "x:."],
    ["x:{a}", "y:a"],
    ["x:{a}y", "x:ayz"],
  ] as const)
    assert.equal(match(template, uri), undefined, `${template} ${uri}`);
});

test("{name} matches one segment, {+name} any number", () => {
  assert.deepEqual(match("x:{a}", "x:b", false), [["a", "b"]]);
  assert.equal(match("x:{a}", "x:b/c", false), undefined);
  assert.deepEqual(match("x:{+a}/{b}", "x:b/c?d/e", false), [
    ["a", "b/c?d"],
    ["b", "e"],
  ]);
});

const CLASSES: Readonly<Record<string, string>> = {
  "+": "(.+)",
  "#": "(#.*)",
  ".": "(\\.[^/?#]+)",
  "/": "((?:/[^/?#]*)+)",
  ";": "(;[^/?#]+)",
  "?": "(\\?[^#]*|)",
  "&": "(&[^#]*|)",
};

/** What the pattern stands for, as a regular expression has it. */
const reference = (template: string): RegExp =>
  new RegExp(`^${template.replaceAll(/\{([^{}]+)\}/g, (_whole, name: string) => CLASSES[name.charAt(0)] ?? "([^/?#]+)")}$`, "u");

const texts = (alphabet: string, most: number): readonly string[] =>
  most === 0 ? [""] : ["", ...texts(alphabet, most - 1).flatMap((rest) => alphabet.split("").map((one) => one + rest))];

test("UriPattern matches what a regular expression matches, with the same values", () => {
  const all = new Set(texts("a/?&#;.", 5));
  for (const template of [
    "{a}{b}",
    "{+a}/{b}",
    "{a}{?q}{&r}{#f}",
    "{+a}{?q}{#f}",
    "{/a*}{.b}",
    "a{;a}{b}",
    "{?q}a{+b}a",
    "{&a}{/b}{+c}/a",
  ]) {
    const [pattern, regular] = [new UriPattern(template, true), reference(template)];
    for (const uri of all)
      assert.deepEqual(
        pattern.match(uri)?.map(([, value]) => value),
        regular.exec(uri)?.slice(1),
        `${template} ${uri}`,
      );
  }
});

test("a URI that almost matches in very many ways takes linear time", () => {
  assert.equal(match("log://{a}-{b}-{c}-{d}-{e}-{f}.txt", `log://${"-".repeat(4_000)}`, false), undefined);
  assert.equal(match("file://{+a}/{+b}/{+c}/{+d}/{+e}/end", `file://${"/".repeat(4_000)}`), undefined);
});
