/** Wraps the prose of generated Markdown at 120 columns. Tables, code and headings stay as they are. */

const COLUMNS = 120;
/** Words that Markdown takes for a list, a heading or a quotation where a line begins with them. */
const MARKER = /^(?:[-*+>#|]|\d+[.)]$)/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;
const FIXED = /^\s*(?:$|\||#|<)/;

/** Refills every paragraph and list item that has a line over 120 columns. */
export function wrapMarkdown(text: string): string {
  // a block of code, or one line
  const parts = text.match(/^ *```[^]*?^ *```.*$|^.*$/gm) ?? [];
  const blocks: string[][] = [];
  for (const part of parts) {
    const block = blocks.at(-1);
    if (block === undefined || !continues(part, block)) blocks.push([part]);
    else block.push(part);
  }
  return blocks.flatMap(fill).join('\n');
}

/** Whether the line goes on with the paragraph or list item above it. */
function continues(line: string, block: readonly string[]): boolean {
  return [line, block.at(-1) ?? ''].every(isProse) && !ITEM.test(line);
}

function isProse(part: string): boolean {
  return !part.includes('```') && !FIXED.test(part);
}

function fill(block: readonly string[]): readonly string[] {
  if (!block.every(isProse) || !block.some((line) => line.length > COLUMNS)) return block;
  const prefix = ITEM.exec(block[0] ?? '')?.[0] ?? '';
  const indent = ' '.repeat(prefix.length);
  const lines: string[] = [];
  let line = prefix.trimEnd();
  for (const word of wordsOf(block.join('\n').slice(prefix.length))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > COLUMNS) lines.push(line);
    line = longer.length > COLUMNS ? indent + word : longer;
  }
  return [...lines, line];
}

/** Words and code spans. One that Markdown would misread at the beginning of a line is joined to the one before it. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const word of text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    if (MARKER.test(word) && words.length > 0) words.push(`${words.pop() ?? ''} ${word}`);
    else words.push(word);
  }
  return words;
}
