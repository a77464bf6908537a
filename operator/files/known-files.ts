/**
 * [P] What the files of the last load had in them. A file that says what it said is not looked into again; of one that says something
 * else, or stands elsewhere, only documents are parsed that were in none of those before.
 */
import { parseDocuments } from './parse-document.ts';
import type { ParseOptions, ParsedDocument } from './parse-document.ts';
import type { FileText } from './scan-folder.ts';
import { splitDocuments } from './split-documents.ts';

/** A file with what was found in it. */
interface ParsedFile {
  readonly file: FileText;
  /** As the text is split, in order. */
  readonly parts: readonly ParsedPart[];
}

/** A piece of a file between two separators: mostly one document, none where there are only comments. */
interface ParsedPart {
  readonly documents: readonly ParsedDocument[];
  /** Of the file, from 0, at which the piece begins. */
  readonly firstLine: number;
}

interface KnownFiles {
  /** The files' documents, file by file; the same ones for the same text as at the last call. */
  parse(files: readonly FileText[]): ParsedFile[];
}

/** Knows nothing to begin with. */
export function createKnownFiles(options: ParseOptions): KnownFiles {
  let known: ReadonlyMap<string, ParsedFile> | undefined;
  return {
    parse(files) {
      const before = known ?? NOTHING;
      const parse = known ? (text: string) => parseDocuments(ownCopy(text), options) : (text: string) => parseDocuments(text, options);
      const same = new Map(files.flatMap((file) => partsAsBefore(before.get(file.path), file)));
      const others = documentsOf([...before.values()].filter(({ file }) => !same.has(file.path)));
      const parsed = files.map((file) => ({ file, parts: same.get(file.path) ?? partsOf(file.text, { others, parse }) }));
      known = new Map(parsed.map((each) => [each.file.path, each]));
      return parsed;
    },
  };
}

const NOTHING: ReadonlyMap<string, ParsedFile> = new Map();

/**
 * What is parsed points into the text that it was parsed from, and a piece of a file into the file's: for each edit, all of it would be
 * kept. The first load copies nothing, so that a start is quick: it keeps one text of each file.
 */
function ownCopy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

function partsAsBefore(before: ParsedFile | undefined, { path, text }: FileText): [string, readonly ParsedPart[]][] {
  return before?.file.text === text ? [[path, before.parts]] : [];
}

/** Documents by their texts. */
type DocumentsByText = ReadonlyMap<string, readonly ParsedDocument[]>;

function documentsOf(files: readonly ParsedFile[]): DocumentsByText {
  return new Map(files.flatMap(({ file, parts }) => splitDocuments(file.text).map(({ text }, index) => [text, parts[index]?.documents ?? []] as const)));
}

interface Parsing {
  /** Of files that are not as they were. */
  readonly others: DocumentsByText;
  readonly parse: (text: string) => readonly ParsedDocument[];
}

/** A look-up by a long text is dear: where there is nothing to find, none is made. */
function partsOf(whole: string, { others, parse }: Parsing): ParsedPart[] {
  return splitDocuments(whole).map(({ text, firstLine }) => ({ documents: (others.size === 0 ? undefined : others.get(text)) ?? parse(text), firstLine }));
}
