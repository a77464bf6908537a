/**
 * A folder's files → Resources, or every mistake in them. Documents are parsed and admitted once and known by their text, so
 * that an edit of one among ten thousand costs one.
 */
import type { Resource } from '#crds/types.gen.ts';
import { sameEntries } from '../store/same.ts';
import { buildResources } from '../store/resources.ts';
import type { Labels, Resources, SecretObject } from '../store/resources.ts';
import type { Generations } from './generations.ts';
import { KnownContents } from './known-content.ts';
import { createKnownFiles } from './known-files.ts';
import type { Manifest, ParseOptions, ParsedDocument, ResourceManifest } from './parse-document.ts';
import { compareProblems } from './problem.ts';
import type { ConfigProblem } from './problem.ts';
import type { FileText } from './scan-folder.ts';

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

interface PlacedDocument {
  readonly document: ParsedDocument;
  readonly file: string;
  readonly changedMs: number | undefined;
  /** Of the file, from 0, at which the document's text begins. */
  readonly firstLine: number;
}

/** A loader that remembers the documents of its last load, and gives the same objects for the same documents. */
export function createLoader(given: ParseOptions, generations: Generations): LoadFolder {
  const known = createKnownFiles({ ...given, known: new KnownContents() });
  const kept: Kept = { generations, namespaces: new Map() };
  return (files) => {
    const placed: PlacedDocument[] = [];
    for (const { file: { path: file, changedMs }, parts } of known.parse(files))
      for (const { documents, firstLine } of parts) for (const document of documents) placed.push({ document, file, changedMs, firstLine });
    return collect(placed, kept);
  };
}

/** From one load to the next. */
interface Kept {
  readonly generations: Generations;
  namespaces: ReadonlyMap<string, Labels>;
}

function collect(documents: readonly PlacedDocument[], kept: Kept): LoadedFolder {
  const origins = new Map<string, Origin>();
  const problems: ConfigProblem[] = [];
  const manifests: PlacedManifest[] = [];
  for (const placed of documents) {
    const { id, manifest } = placed.document;
    if (placed.document.problems.length > 0) problems.push(...problemsOf(placed));
    const before = id === undefined ? undefined : origins.get(id);
    if (before) problems.push(duplicate(placed, before));
    else if (id !== undefined) origins.set(id, originOf(placed));
    if (manifest && id !== undefined && !before) manifests.push({ id, manifest, changedMs: placed.changedMs });
  }
  kept.generations.retain(origins);
  return { resources: gatherManifests(manifests, kept), origins, problems: problems.sort(compareProblems) };
}

function originOf({ document, file, firstLine }: PlacedDocument): Origin {
  return { file, line: document.line + firstLine };
}

function problemsOf({ document: { id, problems }, file, firstLine }: PlacedDocument): ConfigProblem[] {
  return problems.map(({ line, column, path, message }) =>
    ({ severity: 'Error', file, line: line + firstLine, column, ...(id === undefined ? {} : { object: id }), path, message }));
}

function duplicate(placed: PlacedDocument, before: Origin): ConfigProblem {
  return { severity: 'Error', ...originOf(placed), object: placed.document.id ?? '', path: '', message: `is there twice: already in ${before.file}:${before.line}` };
}

interface PlacedManifest {
  readonly id: string;
  readonly manifest: Manifest;
  /** Of its file. */
  readonly changedMs: number | undefined;
}

const NO_LABELS: Labels = Object.freeze({});

function gatherManifests(manifests: readonly PlacedManifest[], kept: Kept): Resources {
  const objects: Resource[] = [];
  const secrets: SecretObject[] = [];
  const namespaces = new Map<string, Labels>();
  for (const { id, manifest, changedMs } of manifests) {
    if (manifest.sort === 'Secret') secrets.push(manifest.secret);
    else if (manifest.sort === 'Namespace') namespaces.set(manifest.name, manifest.labels);
    else objects.push(withGeneration(manifest, kept.generations.assign(id, manifest.object.spec, changedMs)));
  }
  for (const { metadata } of objects) if (!namespaces.has(metadata.namespace)) namespaces.set(metadata.namespace, NO_LABELS);
  if (!sameEntries(kept.namespaces, namespaces)) kept.namespaces = namespaces;
  return buildResources({ objects, secrets, namespaces: kept.namespaces });
}

/** The same object as long as both are the same, so that what is made of it is not made anew. */
function withGeneration(manifest: ResourceManifest, generation: number): Resource {
  const { object, numbered } = manifest;
  if (numbered?.metadata.generation === generation) return numbered;
  return manifest.numbered = { ...object, metadata: { ...object.metadata, generation } };
}
