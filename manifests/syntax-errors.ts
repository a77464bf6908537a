/** [P] Describes the syntax errors that the `yaml` package finds in a text. No message repeats a value of the text. */
import type { Document, Node, YAMLError } from 'yaml';
import { isScalar, visit } from 'yaml';

/** One mistake, at its offset in the text. */
export interface SyntaxMistake {
  readonly offset: number;
  readonly message: string;
}

/** The syntax errors of a document, without those that only follow from others. */
export function syntaxErrors(document: Document, text: string): SyntaxMistake[] {
  const tab = document.errors.find(({ code }) => code === 'TAB_AS_INDENT');
  if (tab) return [{ offset: tab.pos[0], message: 'a tab indents this line; indent with spaces' }];
  const separator = missingSeparator(document, text);
  if (separator) return [separator];
  const quote = openQuote(document);
  if (quote) return [quote];
  const lines = new Set<number>();
  return document.errors.flatMap((error) => {
    const line = text.lastIndexOf('\n', error.pos[0] - 1);
    if (lines.has(line) || (lines.size > 0 && error.code === 'UNEXPECTED_TOKEN')) return [];
    lines.add(line);
    return [{ offset: error.pos[0], message: wordsFor(error, text) }];
  });
}

/** Two objects in one document: each of their keys but one would be reported as duplicate. */
function missingSeparator({ errors }: Document, text: string): SyntaxMistake | undefined {
  const first = errors.find(({ code, pos }) => code === 'DUPLICATE_KEY' && isHead(text, pos[0]));
  return first && { offset: first.pos[0], message: `${duplicate(first, text)}; write --- between two objects` };
}

function isHead(text: string, offset: number): boolean {
  return (
    (offset === 0 || text[offset - 1] === '\n') && /^(?:apiVersion|kind)\s*:/.test(text.slice(offset, offset + 40))
  );
}

/** A quote that is not closed. The error itself is at the end of the text. */
function openQuote(document: Document): SyntaxMistake | undefined {
  const error = document.errors.find(({ code, message }) => code === 'MISSING_CHAR' && message.endsWith('quote'));
  if (!error) return undefined;
  let offset = error.pos[0];
  const find = (_: unknown, node: Node): void => {
    if (isScalar(node) && node.type?.startsWith('QUOTE') && node.range && node.range[1] >= error.pos[0])
      offset = node.range[0];
  };
  visit(document, { Scalar: find });
  return { offset, message: 'a quote that is not closed' };
}

function wordsFor(error: YAMLError, text: string): string {
  if (error.code === 'DUPLICATE_KEY') return duplicate(error, text);
  if (error.code === 'BAD_INDENT') {
    const bracket = /end with a ([\]}])$/.exec(error.message)?.[1];
    return bracket ? `a ${bracket} is missing before this line` : WORDS.BAD_INDENT;
  }
  return WORDS[error.code];
}

/** Names the key if it looks like a field. Other text may be a Secret's. */
function duplicate({ pos }: YAMLError, text: string): string {
  const [, name] = /^["']?([a-z][A-Za-z]{0,40})["']?\s*:/.exec(text.slice(pos[0], pos[0] + 60)) ?? [];
  return `${name === undefined ? 'this key' : `the key "${name}"`} appears twice in its map`;
}

/** Some messages of the package repeat the text, which may be a Secret's; others use terms of the specification. */
const WORDS: Readonly<Record<YAMLError['code'], string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'an alias to an anchor that does not exist',
  BAD_COLLECTION_TYPE: 'a tag that does not fit its value',
  BAD_DIRECTIVE: 'a directive that is not known',
  BAD_DQ_ESCAPE: 'an escape sequence that is not valid in double quotes',
  BAD_INDENT: 'this line is indented differently from the other keys or items of its map or list',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'a value cannot start with this character; put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a second key on this line, or a next line that is indented too far; put a value that contains ": " in quotes',
  BLOCK_IN_FLOW: 'a block value within brackets',
  DUPLICATE_KEY: 'this key appears twice in its map',
  IMPOSSIBLE: 'this is not YAML',
  KEY_OVER_1024_CHARS: 'a key of more than 1,024 characters',
  MISSING_CHAR: 'a colon, a comma, a space or a closing character is missing',
  MULTILINE_IMPLICIT_KEY: 'a key without a value; a colon and a space separate the two',
  MULTIPLE_ANCHORS: 'a value with two anchors',
  MULTIPLE_DOCS: 'a second document',
  MULTIPLE_TAGS: 'a value with two tags',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'too many nested values',
  TAB_AS_INDENT: 'a tab indents this line; indent with spaces',
  TAG_RESOLVE_FAILED: 'a tag that is not known, or does not fit its value',
  UNEXPECTED_TOKEN: 'unexpected text after the end of a value',
};
