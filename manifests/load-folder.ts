/**
 * Loads a folder's files as Resources, or reports every mistake in them. Each document is parsed and admitted once and
 * cached by its text, so that an edit of one among ten thousand costs one.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '#crds/types.gen.ts';
import { buildResources } from '#objects/resources.ts';
import type { Labels, Resources, SecretObject } from '#objects/resources.ts';
import { compareDiagnostics } from './diagnostic.ts';
import type { Diagnostic } from './diagnostic.ts';
import { foreignFile } from './foreign-objects.ts';
import type { Generations } from './generations.ts';
import { isFaulty, parseDocuments } from './parse-document.ts';
import type { Manifest, ParseOptions, ParsedDocument } from './parse-document.ts';
import type { EncodingFault, FileText } from './scan-folder.ts';
import { splitDocuments } from './split-documents.ts';
import { YamlError } from './yaml.ts';

/** The position of an object. */
export interface Origin {
  readonly file: string;
  readonly line: number;
}

export interface LoadedFolder {
  /** Contains only objects without mistakes. */
  readonly resources: Resources;
  /** By "Kind namespace/name". */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Warnings about what is left out, by position. */
  readonly warnings: readonly Diagnostic[];
  /** True if there are no mistakes. */
  readonly isValid: boolean;
  /** Every mistake, sorted by position. */
  diagnose(): Promise<Diagnostic[]>;
}

export type LoadFolder = (files: readonly FileText[]) => LoadedFolder;

/** A part of a file between two separators: mostly one document, none if it has only comments. */
interface Piece {
  readonly file: string;
  /** The file's modification time. */
  readonly changedMs: number | undefined;
  readonly text: string;
  /** The line of the file, from 0, at which the part begins. */
  readonly firstLine: number;
  readonly documents: readonly ParsedDocument[];
}

/** Creates a loader that caches the documents of its last load, and returns the same objects for the same documents. */
export function createLoader(options: ParseOptions, generations: Generations): LoadFolder {
  let known: ReadonlyMap<string, readonly ParsedDocument[]> = new Map();
  const kept: Kept = { generations, namespaces: new Map() };
  return (files) => {
    const pieces = files.flatMap(({ path: file, changedMs, text: whole, encodingFault }) => {
      const skipped = foreignFile(file);
      if (skipped !== undefined) return [unreadPiece(file, { line: 1, errors: [], skipped })];
      if (encodingFault) return [unreadPiece(file, notText(encodingFault))];
      return splitDocuments(whole).map(({ text, firstLine }): Piece => {
        const documents = known.get(text) ?? parseDocuments(ownCopy(text), options);
        return { file, changedMs, text, firstLine, documents };
      });
    });
    known = new Map(pieces.filter(({ text }) => text !== '').map(({ text, documents }) => [text, documents]));
    return collect(pieces, kept);
  };
}

/** A file that is not read at all. */
function unreadPiece(file: string, document: ParsedDocument): Piece {
  return { file, changedMs: undefined, text: '', firstLine: 0, documents: [document] };
}

function notText({ line, message }: EncodingFault): ParsedDocument {
  return { line, errors: [], yamlError: new YamlError(message, { line, column: 1 }) };
}

/** Copies a part of a file's text, because the part would keep the whole text in memory. */
function ownCopy(text: string): string {
  return Buffer.from(text).toString();
}

/** What one load keeps for the next. */
interface Kept {
  readonly generations: Generations;
  namespaces: ReadonlyMap<string, Labels>;
}

interface PlacedManifest {
  readonly id: string;
  readonly manifest: Manifest;
  /** The file's modification time. */
  readonly changedMs: number | undefined;
}

function collect(pieces: readonly Piece[], kept: Kept): LoadedFolder {
  const origins = new Map<string, Origin>();
  const duplicates: Diagnostic[] = [];
  const manifests: PlacedManifest[] = [];
  for (const { documents, file, firstLine, changedMs } of pieces) {
    for (const { id, line, manifest } of documents) {
      if (id === undefined) continue;
      const origin = { file, line: line + firstLine };
      const before = origins.get(id);
      if (before) duplicates.push(duplicate(id, origin, before));
      else origins.set(id, origin);
      if (manifest && !before) manifests.push({ id, manifest, changedMs });
    }
  }
  kept.generations.retain(origins);
  const faulty = pieces.filter(({ documents }) => documents.some(isFaulty));
  return {
    resources: gatherManifests(manifests, kept),
    origins,
    warnings: warningsIn(pieces),
    isValid: duplicates.length === 0 && faulty.length === 0,
    diagnose: async () => [...duplicates, ...(await diagnose(faulty))].sort(compareDiagnostics),
  };
}

function duplicate(object: string, origin: Origin, { file, line }: Origin): Diagnostic {
  return { severity: 'Error', ...origin, object, path: '', message: `duplicate object: already in ${file}:${line}` };
}

function warningsIn(pieces: readonly Piece[]): Diagnostic[] {
  return pieces.flatMap(({ file, firstLine, documents }) =>
    documents.flatMap(({ line, skipped }): Diagnostic[] =>
      skipped === undefined ? [] : [{ severity: 'Warning', file, line: line + firstLine, path: '', message: skipped }],
    ),
  );
}

async function diagnose(pieces: readonly Piece[]): Promise<Diagnostic[]> {
  const { findMistakes } = await import('./diagnose.ts');
  return pieces.flatMap(({ file, firstLine, text, documents }) =>
    findMistakes(text, documents).map((mistake) => ({
      severity: 'Error',
      file,
      ...mistake,
      line: mistake.line + firstLine,
    })),
  );
}

const NO_LABELS: Labels = Object.freeze({});

function gatherManifests(manifests: readonly PlacedManifest[], kept: Kept): Resources {
  const objects: Resource[] = [];
  const secrets: SecretObject[] = [];
  const namespaces = new Map<string, Labels>();
  for (const { id, manifest, changedMs } of manifests) {
    if (manifest.sort === 'Secret') secrets.push(manifest.secret);
    else if (manifest.sort === 'Namespace') namespaces.set(manifest.name, manifest.labels);
    else objects.push(kept.generations.assign(id, manifest.object, changedMs));
  }
  for (const {
    metadata: { namespace },
  } of objects)
    if (!namespaces.has(namespace)) namespaces.set(namespace, NO_LABELS);
  if (!isDeepStrictEqual(kept.namespaces, namespaces)) kept.namespaces = namespaces;
  return buildResources({ objects, secrets, namespaces: kept.namespaces });
}
