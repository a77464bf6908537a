/** Every field has a description, and `kubectl explain` on a real API server shows it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { readCrdTexts } from '#crds/load.ts';
import { startCluster } from '../cluster/support.ts';
import type { Cluster } from '../cluster/support.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { needKubectl } from '../../support/kube/kubectl.ts';

const MOST_TRIES = 60;
const PAUSE_MS = 250;
const run = promisify(execFile);
const kubectl = await needKubectl(process.env);
const skip = (await kubeApiserverMissing()) ?? kubectl.skip;

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Field {
  readonly path: string;
  readonly description: string;
}

/** All fields of a schema except metadata, which is Kubernetes' own. */
function fieldsOf({ properties = {}, items }: Schema, path: string): Field[] {
  const own = Object.entries(properties)
    .filter(([name]) => name !== 'metadata')
    .flatMap(([name, schema]) => {
      const at = `${path}.${name}`;
      return [{ path: at, description: schema.description ?? '' }, ...fieldsOf(schema, at)];
    });
  return [...own, ...(items ? fieldsOf(items, path) : [])];
}

const definitions = (await readCrdTexts()).map((text) => {
  const {
    spec: { names, versions },
  } = parse(text);
  const schema: Schema = versions[0].schema.openAPIV3Schema;
  return {
    plural: names.plural as string,
    kind: names.kind as string,
    description: schema.description ?? '',
    fields: fieldsOf(schema, names.plural),
  };
});

describe('every field is described', () => {
  for (const { kind, description, fields } of definitions)
    it(kind, () => {
      assert.ok(description.length > 40, kind);
      assert.ok(fields.length > 10);
      for (const field of fields)
        assert.match(field.description, /^[A-Z0-9"].{7,}[.)]$/s, `${field.path}: ${JSON.stringify(field.description)}`);
    });
});

describe.skipIf(skip)('kubectl explain', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let home: string;
  beforeAll(async () => {
    cluster = await startCluster([]);
    // the server lists new kinds a moment after it accepts them, and kubectl caches the list
    for (let tries = 1; ; tries++) {
      home = await mkdtemp(join(tmpdir(), 'mgw-explain-'));
      const answers = await Promise.allSettled(definitions.map(({ plural }) => explain(plural)));
      const failure = answers.find((answer) => answer.status === 'rejected');
      if (!failure) return;
      await rm(home, { recursive: true, force: true });
      if (tries === MOST_TRIES) throw failure.reason;
      await sleep(PAUSE_MS);
    }
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(home, { recursive: true, force: true });
  });
  const explain = async (...args: string[]): Promise<string> =>
    (
      await run(kubectl.path, ['explain', ...args], {
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home },
      })
    ).stdout;
  /** The text as it is wrapped. */
  const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

  for (const { plural, kind, description, fields } of definitions)
    it(`shows every field of ${kind}`, async () => {
      const shown = flat(await explain(plural, '--recursive'));
      assert.ok(shown.includes(flat(description).trim()));
      for (const { path } of fields) assert.ok(shown.includes(` ${path.split('.').at(-1)} <`), path);
      const parts = fields.filter(({ path }) => fields.some((other) => other.path.startsWith(`${path}.`)));
      for (const part of parts.filter(({ path }) => path.split('.').length <= 3)) {
        const text = flat(await explain(part.path));
        assert.ok(text.includes(flat(part.description).trim()), part.path);
        for (const child of fields.filter(
          ({ path }) => path.startsWith(`${part.path}.`) && !path.slice(part.path.length + 1).includes('.'),
        )) {
          assert.ok(text.includes(flat(child.description).trim()), `${child.path} in ${part.path}`);
        }
      }
    });
});
