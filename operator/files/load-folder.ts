/**
 * A folder's files → Resources, or every mistake in them. Documents are parsed and admitted once and known by their text, so
 * that an edit of one among ten thousand costs one.
 */
import type { Resource } from '#crds/types.gen.ts';
import { buildResources } from '../store/resources.ts';
import type { Labels, Resources, SecretObject } from '../store/resources.ts';
import type { Generations } from './generations.ts';
import { parseDocuments } from './parse-document.ts';
import type { DocumentProblem, Manifest, ParseOptions, ParsedDocument } from './parse-document.ts';
import { compareProblems } from './problem.ts';
import type { ConfigProblem } from './problem.ts';
import type { FileText } from './scan-folder.ts';
import { splitDocuments } from './split-documents.ts';

/** Where an object stands. */
export interface Origin {
  readonly file: string;
  readonly line: number;
}

export interface LoadedFolder {
  /** Only what is without mistakes. */
  readonly resources: Resources;
  /** By "Kind namespace/name". */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Sorted by place. */
  readonly problems: readonly ConfigProblem[];
}

export type LoadFolder = (files: readonly FileText[]) => LoadedFolder;

interface PlacedDocument extends ParsedDocument, Origin {}

/** A loader that remembers the documents of its last load. */
export function createLoader(options: ParseOptions, generations: Generations): LoadFolder {
  let remembered = new Map<string, ParsedDocument[]>();
  return (files) => {
    const used = new Map<string, ParsedDocument[]>();
    const documents = files.flatMap(({ path, text }) => splitDocuments(text).flatMap((chunk) => {
      const parsed = used.get(chunk.text) ?? remembered.get(chunk.text) ?? parseDocuments(chunk.text, options);
      used.set(chunk.text, parsed);
      return parsed.map((document) => place(document, path, chunk.firstLine));
    }));
    remembered = used;
    return collect(documents, generations);
  };
}

function place(document: ParsedDocument, file: string, firstLine: number): PlacedDocument {
  const moved = (problem: DocumentProblem) => ({ ...problem, line: problem.line + firstLine });
  return { ...document, file, line: document.line + firstLine, problems: document.problems.map(moved) };
}

function collect(documents: readonly PlacedDocument[], generations: Generations): LoadedFolder {
  const origins = new Map<string, Origin>();
  const problems = documents.flatMap(problemsOf);
  const manifests: Manifest[] = [];
  for (const document of documents) {
    const { id, file, line, manifest } = document;
    const before = id === undefined ? undefined : origins.get(id);
    if (before) problems.push(duplicate(document, before));
    else if (id !== undefined) origins.set(id, { file, line });
    if (manifest && !before) manifests.push(manifest);
  }
  generations.retain(new Set(origins.keys()));
  return { resources: gatherManifests(manifests, generations), origins, problems: problems.sort(compareProblems) };
}

function problemsOf({ file, id, problems }: PlacedDocument): ConfigProblem[] {
  return problems.map(({ line, column, path, message }) =>
    ({ severity: 'Error', file, line, column, ...(id === undefined ? {} : { object: id }), path, message }));
}

function duplicate({ file, line, id = '' }: PlacedDocument, before: Origin): ConfigProblem {
  return { severity: 'Error', file, line, object: id, path: '', message: `is there twice: already in ${before.file}:${before.line}` };
}

function gatherManifests(manifests: readonly Manifest[], generations: Generations): Resources {
  const objects: Resource[] = [];
  const secrets: SecretObject[] = [];
  const namespaces = new Map<string, Labels>();
  for (const manifest of manifests) {
    if (manifest.sort === 'Secret') secrets.push(manifest.secret);
    else if (manifest.sort === 'Namespace') namespaces.set(manifest.name, manifest.labels);
    else objects.push(withGeneration(manifest.object, generations));
  }
  for (const { metadata } of objects) if (!namespaces.has(metadata.namespace)) namespaces.set(metadata.namespace, {});
  return buildResources({ objects, secrets, namespaces });
}

function withGeneration<R extends Resource>(object: R, generations: Generations): R {
  const { kind, metadata, spec } = object;
  const generation = generations.assign(`${kind} ${metadata.namespace}/${metadata.name}`, spec);
  return { ...object, metadata: { ...metadata, generation } };
}
