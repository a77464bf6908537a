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

export interface KnownFiles {
  /** The files' documents, file by file; the same ones for the same text as at the last call. */
  parse(files: readonly FileText[]): ParsedFile[];
}

/** Knows nothing to begin with. */
export function createKnownFiles(options: ParseOptions): KnownFiles {
  let known: ReadonlyMap<string, ParsedFile> = new Map();
  return {
    parse(files) {
      const same = new Map(files.flatMap((file) => partsAsBefore(known.get(file.path), file)));
      const others = documentsOf([...known.values()].filter(({ file }) => !same.has(file.path)));
      const parsed = files.map((file) => ({ file, parts: same.get(file.path) ?? parseText(file.text, { others, options }) }));
      known = new Map(parsed.map((each) => [each.file.path, each]));
      return parsed;
    },
  };
}

function partsAsBefore(before: ParsedFile | undefined, { path, text }: FileText): [string, readonly ParsedPart[]][] {
  return before?.file.text === text ? [[path, before.parts]] : [];
}

/** Documents by their texts. */
type DocumentsByText = ReadonlyMap<string, readonly ParsedDocument[]>;

function documentsOf(files: readonly ParsedFile[]): DocumentsByText {
  return new Map(files.flatMap(({ file, parts }) => splitDocuments(file.text).map(({ text }, index) => [text, parts[index]?.documents ?? []] as const)));
}

function parseText(whole: string, { others, options }: { readonly others: DocumentsByText; readonly options: ParseOptions }): ParsedPart[] {
  return splitDocuments(whole).map(({ text, firstLine }) => ({ documents: knownDocuments(others, text) ?? parseDocuments(text, options), firstLine }));
}

/**
 * A look-up by a long text is dear, and at the first load there is nothing to find. Later it does a second thing: V8 makes a copy of the
 * text for it, and what is parsed then points into that, not into the text of the whole file, which would be kept for each edit otherwise.
 */
function knownDocuments(others: DocumentsByText, text: string): readonly ParsedDocument[] | undefined {
  return others.size === 0 ? undefined : others.get(text);
}
