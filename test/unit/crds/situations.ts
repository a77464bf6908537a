/**
 * The manifests of testdata/, one situation each. Comments at a file's top give the expected result: `# accepted`, or a
 * line `# refused: <path>: <part of the message>` for each mistake.
 */
import { readFile, readdir } from 'node:fs/promises';
import { parse } from 'yaml';
import type { JsonObject } from '#crds/json.ts';

const FOLDER = new URL('testdata/', import.meta.url);

export interface Situation {
  readonly name: string;
  readonly kind: string;
  readonly object: JsonObject;
  /** Empty if it is accepted. */
  readonly expected: readonly ExpectedError[];
}

export interface ExpectedError {
  readonly path: string;
  readonly message: string;
}

/** All situations, by file name. */
export async function loadSituations(): Promise<Situation[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.yaml')).sort();
  return Promise.all(names.map(async (name) => readSituation(name, await readFile(new URL(name, FOLDER), 'utf8'))));
}

function readSituation(name: string, text: string): Situation {
  const object = parse(text) as JsonObject;
  const expected = [...text.matchAll(/^# refused: (.+)$/gm)].map(([, line = '']) => expectedError(line));
  const accepted = /^# accepted$/m.test(text);
  if (accepted === expected.length > 0) throw new Error(`${name} must say either accepted or refused`);
  return {
    name: name.replace(/\.yaml$/, ''),
    kind: typeof object['kind'] === 'string' ? object['kind'] : '',
    object,
    expected,
  };
}

/** A path has no spaces; a text with spaces is a message about the whole object. */
function expectedError(line: string): ExpectedError {
  const [, path = '', message = line] = /^(\S+): (.+)$/.exec(line) ?? [];
  return { path, message };
}
