/**
 * [P] Reads the YAML of manifests: version 1.2 with merge keys (<<). Times stay text, a repeated key in a map is an
 * error, and so is a value that kubectl reads in another way (yaml11.ts).
 */
import { CORE_SCHEMA, EVENT_ID, YAMLException, constructFromEvents, mergeTag, parseEvents } from 'js-yaml';
import type { Event } from 'js-yaml';
import { findAmbiguities } from './yaml11.ts';

/** One document of a text, with the line from 1 at which its value begins. */
export interface YamlDocument {
  readonly line: number;
  readonly value: unknown;
}

/** Why a text is not YAML. The message repeats nothing of the text, which may be a Secret's. Positions count from 1. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly line: number;
  readonly column: number;
  constructor(message: string, { line, column }: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

const SCHEMA = CORE_SCHEMA.withTags(mergeTag);
/** What js-yaml's messages may quote of the text: names of anchors, tags and their handles. */
const QUOTED = /".*"|!<.*>|: .*/s;
/** The most values of one document with resolved aliases. No object of the API has a hundredth of that. */
const MAX_VALUES = 1_000_000;

/** The documents of a text that are not empty. @throws YamlError */
export function readYaml(text: string): YamlDocument[] {
  try {
    const events = parseEvents(text, {});
    const starts = events.flatMap(({ type }, index) =>
      type === EVENT_ID.DOCUMENT ? [startOf(events[index + 1])] : [],
    );
    const values = constructFromEvents(events, { source: text, schema: SCHEMA });
    return values.flatMap((value, index) => documentAt(starts[index], value, text));
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { line = 0, column = 0 } = error.mark ?? {};
    throw new YamlError(error.reason.replace(QUOTED, '…'), { line: line + 1, column: column + 1 });
  }
}

/** The plain scalars of a text that kubectl reads in another way. */
export function findAmbiguous(text: string): YamlError[] {
  return findAmbiguities(text).map(({ offset, message }) => {
    const column = offset - text.lastIndexOf('\n', offset - 1);
    return new YamlError(message, { line: lineAt(text, offset), column });
  });
}

function documentAt(start: number | undefined, value: unknown, text: string): YamlDocument[] {
  if (start === undefined) return [];
  const line = lineAt(text, start);
  if (!hasMoreValues(value, MAX_VALUES)) return [{ line, value }];
  throw new YamlError('too many aliases, or one that contains itself', { line, column: 1 });
}

/** The position at which a document's value begins; undefined if there is none. */
function startOf(event: Event | undefined): number | undefined {
  if (event?.type === EVENT_ID.MAPPING || event?.type === EVENT_ID.SEQUENCE) return event.start;
  return event?.type === EVENT_ID.SCALAR && event.valueStart >= 0 ? event.valueStart : undefined;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** A few nested aliases expand to billions of values, and an alias to its own parent to infinitely many. */
function hasMoreValues(root: unknown, most: number): boolean {
  const left = [root];
  for (let seen = 0; left.length > 0; seen++) {
    if (seen >= most) return true;
    const value = left.pop();
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) left.push(inner);
  }
  return false;
}
