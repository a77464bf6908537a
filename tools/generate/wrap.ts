/** Wraps the prose of generated Markdown at 120 columns. Tables, code and headings stay as they are. */

const COLUMNS = 120;
/** Words that Markdown takes for a list, a heading or a quotation where a line begins with them. */
const MARKER = /^(?:[-*+>#|]|\d+[.)]$)/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;

/** The text with every paragraph and list item filled anew that has a line over 120 columns. */
export function wrapMarkdown(text: string): string {
  const lines: string[] = [];
  let block: string[] = [];
  let isCode = false;
  const flush = (): void => {
    lines.push(...fill(block));
    block = [];
  };
  for (const line of text.split('\n')) {
    const isFence = line.trimStart().startsWith('```');
    if (isFence) isCode = !isCode;
    if (isCode || isFence || isFixed(line)) {
      flush();
      lines.push(line);
    } else {
      if (ITEM.test(line)) flush();
      block.push(line);
    }
  }
  flush();
  return lines.join('\n');
}

function isFixed(line: string): boolean {
  return line.trim() === '' || /^\s*(?:\||#|<)/.test(line);
}

function fill(block: readonly string[]): readonly string[] {
  if (!block.some((line) => line.length > COLUMNS)) return block;
  const prefix = ITEM.exec(block[0] ?? '')?.[0] ?? '';
  const indent = ' '.repeat(prefix.length);
  const words = wordsOf(block.join('\n').slice(prefix.length));
  const lines: string[] = [];
  let line = prefix.trimEnd();
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= COLUMNS) {
      line = longer;
    } else {
      lines.push(line);
      line = indent + word;
    }
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
