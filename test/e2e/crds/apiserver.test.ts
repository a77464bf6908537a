/**
 * The CustomResourceDefinitions on a real Kubernetes API server: they install within the cost limits, and the server's
 * verdict on every manifest, from testdata/ or random, equals that of admit. Transition rules are tested only here.
 */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { isJsonObject, type JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { loadApiKinds, readCrdTexts } from '#crds/load.ts';
import { admit } from '#crds/schema.ts';
import { installCrds, type Definition } from '../../support/kube/install-crds.ts';
import { kubeClient, type KubeAnswer, type KubeClient } from '../../support/kube/client.ts';
import { kubeApiserverMissing, startKubeApiserver, type KubeApiserver } from '../../support/kube-apiserver.ts';
import { largestObjects } from '../../unit/crds/largest.ts';
import { arbitraryMutation } from '../../unit/crds/mutations.ts';
import { loadSituations, type ExpectedError, type Situation } from '../../unit/crds/situations.ts';

const MUTATION_RUNS = 400;
const MUTATION_SEED = 20_270_101;

const missing = await kubeApiserverMissing();
const kinds = await loadApiKinds();
const situations = await loadSituations();
const definitions = (await readCrdTexts()).map((text) => parse(text) as Definition);

describe.skipIf(missing)('on a Kubernetes API server', () => {
  let server: KubeApiserver;
  let client: KubeClient;
  let installed: KubeAnswer['body'][];

  beforeAll(async () => {
    server = await startKubeApiserver();
    client = kubeClient(server);
    for (const name of namespacesOf(situations))
      await client.call('POST', '/api/v1/namespaces', { metadata: { name } });
    installed = await installCrds(client, definitions);
  });

  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  it('accepts the definitions', () => {
    for (const { metadata, status } of installed) {
      const bad = status.conditions.filter(
        (condition: { type: string; status: string }) =>
          condition.type === 'NonStructuralSchema' ||
          (condition.type === 'NamesAccepted' && condition.status !== 'True'),
      );
      assert.deepEqual(bad, [], metadata.name);
    }
  });

  it('would accept lists twice as long', async () => {
    for (const definition of definitions) {
      const answer = await client.call(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All',
        renamed(enlarged(definition, 2)),
      );
      assert.equal(answer.status, 201, answer.body.message);
    }
  });

  describe('agrees with admit on', () => {
    for (const { name, kind, object, expected } of situations) {
      it(name, async () => {
        const schema = schemaOf(kind);
        const answer = await create(client, schema, object);
        assert.equal(answer.status === 201, expected.length === 0, answer.body.message);
        if (answer.status === 201) return assertSameObject(answer.body, admit(schema, object).object);
        assertExpectedCauses(answer.body, expected);
      });
    }
  });

  it('accepts the largest objects within the cost limit of rules', async () => {
    for (const { kind, object } of largestObjects()) {
      const schema = schemaOf(kind);
      assert.deepEqual(admit(schema, object).errors, []);
      const answer = await create(client, schema, object);
      assert.equal(answer.status, 201, answer.body.message);
    }
  });

  it('agrees with admit on random mutations', async () => {
    const accepted = situations.filter(({ expected }) => expected.length === 0);
    const mutated = fc
      .constantFrom(...accepted)
      .chain(({ kind, object }) => arbitraryMutation(object, schemaOf(kind).root).map((mutant) => ({ kind, mutant })));
    await fc.assert(
      fc.asyncProperty(mutated, async ({ kind, mutant }) => {
        const schema = schemaOf(kind);
        const answer = await create(client, schema, mutant);
        const { object, errors } = admit(schema, mutant);
        assert.equal(
          errors.length === 0,
          answer.status === 201,
          JSON.stringify({ server: answer.body.message, errors }),
        );
        if (answer.status === 201) assertSameObject(answer.body, object);
      }),
      { numRuns: MUTATION_RUNS, seed: MUTATION_SEED },
    );
  });

  describe('refuses changes of', () => {
    const account = { spec: { gatewayNamespace: 'a' } };
    const key = {
      spec: {
        gatewayNamespace: 'a',
        groupRef: { name: 'g' },
        accountRef: { name: 'a' },
        key: { rotation: 3 },
      },
    };
    const changes: readonly [
      kind: string,
      path: string,
      object: {
        spec: JsonObject;
      },
      changed: JsonObject,
      message: RegExp,
    ][] = [
      ['Account', 'spec.gatewayNamespace', account, { gatewayNamespace: 'b' }, /gatewayNamespace cannot be changed/],
      ['ApiKey', 'spec.gatewayNamespace', key, { gatewayNamespace: 'b' }, /gatewayNamespace cannot be changed/],
      ['ApiKey', 'spec.accountRef.name', key, { accountRef: { name: 'b' } }, /accountRef\.name cannot be changed/],
      ['ApiKey', 'spec.key.type', key, { key: { type: 'Provided' } }, /key\.type cannot be changed/],
      ['ApiKey', 'spec.key.rotation', key, { key: { rotation: 2 } }, /rotation can only grow/],
    ];
    for (const [index, [kind, path, object, changed, message]] of changes.entries()) {
      it(`${kind} ${path}`, async () => {
        const schema = schemaOf(kind);
        const name = `change-${index}`;
        const created = await store(client, schema, { ...object, metadata: { name } });
        const answer = await client.call('PUT', `${collection(schema)}/${name}`, {
          ...created,
          spec: { ...created.spec, ...changed },
        });
        assert.equal(answer.status, 422);
        const causes = causesOf(answer.body);
        assert.ok(
          causes.some((cause) => cause.path === path && message.test(cause.message)),
          JSON.stringify(causes),
        );
      });
    }
  });

  it('allows the normal changes of a key', async () => {
    const schema = schemaOf('ApiKey');
    const created = await store(client, schema, {
      metadata: { name: 'grows' },
      spec: { groupRef: { name: 'g' }, accountRef: { name: 'a' } },
    });
    const spec = {
      ...created.spec,
      enabled: false,
      groupRef: { name: 'h' },
      quota: { limitUsd: '5' },
      key: {
        ...created.spec.key,
        rotation: 2,
        overlapSeconds: 60,
      },
    };
    const answer = await client.call('PUT', `${collection(schema)}/grows`, { ...created, spec });
    assert.equal(answer.status, 200, answer.body.message);
    assert.equal(answer.body.metadata.generation, 2);
  });

  it('finds keys by group and by account', async () => {
    const schema = schemaOf('ApiKey');
    await store(client, schema, {
      metadata: { name: 'selected' },
      spec: { groupRef: { name: 'sought' }, accountRef: { name: 'payer' } },
    });
    for (const selector of ['spec.groupRef.name=sought', 'spec.accountRef.name=payer']) {
      const { body } = await client.call('GET', `${collection(schema)}?fieldSelector=${selector}`);
      assert.deepEqual(
        body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
        ['selected'],
      );
    }
  });

  it('merges the grants of two owners', async () => {
    const path = `${collection(schemaOf('Account'))}/merged`;
    for (const owner of ['alice', 'bob']) {
      const object = {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'Account',
        metadata: { name: 'merged' },
        spec: { grants: [{ name: owner, usd: '1' }] },
      };
      const answer = await client.call(
        'PATCH',
        `${path}?fieldManager=${owner}`,
        object,
        'application/apply-patch+yaml',
      );
      assert.ok(answer.status < 300, answer.body.message);
    }
    const { body } = await client.call('GET', path);
    assert.deepEqual(
      body.spec.grants.map((grant: { name: string }) => grant.name),
      ['alice', 'bob'],
    );
  });

  it('shows the columns of kubectl get in their order', async () => {
    const expected: Readonly<Record<string, string>> = {
      ApiKey: 'NAME GROUP ACCOUNT ENABLED SPENT LIMIT REMAINING READY AGE',
      Account: 'NAME CREDIT SPENT BALANCE READY AGE',
      Group: 'NAME RATIO MODELS KEYS READY AGE',
      ModelRoute: 'NAME MODELS CHANNELS READY AGE',
      PriceCatalog: 'NAME MODELS READY AGE',
    };
    const wideColumns: Readonly<Record<string, string>> = {
      ApiKey: 'REASON GATEWAY',
      Account: 'REASON GATEWAY',
      Group: 'REASON',
      ModelRoute: 'KEYS REASON',
      PriceCatalog: 'KEYS REASON',
    };
    for (const schema of kinds.values()) {
      const { columnDefinitions } = await client.table(collection(schema));
      const shown = columnDefinitions.filter(({ priority }) => priority === 0);
      assert.equal(shown.map((column) => column.name.toUpperCase()).join(' '), expected[schema.kind]);
      const wide = columnDefinitions.filter(({ priority }) => priority > 0).map((column) => column.name.toUpperCase());
      assert.deepEqual(wide.join(' '), wideColumns[schema.kind]);
    }
  });

  it('shows READY as Unknown before an operator writes the status', async () => {
    const schema = schemaOf('Account');
    const situation = situations.find(({ name }) => name === 'account-minimal');
    assert.ok(situation);
    const { body } = await create(client, schema, situation.object);
    assert.deepEqual(
      body.status.conditions.map(({ type, status, reason }: Readonly<Record<string, string>>) => [
        type,
        status,
        reason,
      ]),
      [['Ready', 'Unknown', 'Pending']],
    );
  });

  it('keeps an applied status, and shows it', async () => {
    const schema = schemaOf('Account');
    await store(client, schema, { metadata: { name: 'shown' }, spec: {} });
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2027-01-01T00:00:00Z',
      observedGeneration: 1,
    };
    const status = {
      observedGeneration: 1,
      creditUsd: '5.00',
      spentUsd: '1.00',
      heldUsd: '0.00',
      balanceUsd: '4.00',
      conditions: [ready],
    };
    const applied = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Account', metadata: { name: 'shown' }, status };
    const answer = await client.call(
      'PATCH',
      `${collection(schema)}/shown/status?fieldManager=test&fieldValidation=Strict`,
      applied,
      'application/apply-patch+yaml',
    );
    assert.equal(answer.status, 200, answer.body.message);
    assert.deepEqual(answer.body.status, status);
    const { rows } = await client.table(`${collection(schema)}/shown`);
    assert.deepEqual(rows[0]?.cells.slice(0, 5), ['shown', '5.00', '1.00', '4.00', 'True']);
  });
});

function schemaOf(kind: string): KindSchema {
  const schema = kinds.get(kind);
  assert.ok(schema, `no kind ${kind}`);
  return schema;
}

function collection(schema: KindSchema, namespace = 'default'): string {
  return `/apis/${schema.group}/${schema.version}/namespaces/${namespace}/${schema.plural}`;
}

function namespaceOf(object: JsonObject): string | undefined {
  const { metadata } = object;
  return isJsonObject(metadata) && typeof metadata['namespace'] === 'string' ? metadata['namespace'] : undefined;
}

function namespacesOf(all: readonly Situation[]): ReadonlySet<string> {
  return new Set(all.flatMap(({ object }) => namespaceOf(object) ?? []));
}

/** As `kubectl create --dry-run=server --validate=strict` does. */
function create(client: KubeClient, schema: KindSchema, object: JsonObject): Promise<KubeAnswer> {
  return client.call('POST', `${collection(schema, namespaceOf(object))}?dryRun=All&fieldValidation=Strict`, object);
}

async function store(client: KubeClient, schema: KindSchema, object: JsonObject): Promise<KubeAnswer['body']> {
  const answer = await client.call('POST', collection(schema), {
    apiVersion: `${schema.group}/${schema.version}`,
    kind: schema.kind,
    ...object,
  });
  assert.equal(answer.status, 201, answer.body.message);
  return answer.body;
}

/** Equal except for metadata, to which the server adds. */
function assertSameObject(fromServer: JsonObject, own: JsonObject): void {
  const { metadata: _, status: ___, ...theirs } = fromServer; // the schema's default, shown until an operator answers
  const { metadata: __, ...ours } = own;
  assert.deepEqual(ours, theirs);
}

/** The server's errors as paths and messages, without its remark that rules were not checked. */
function causesOf(body: KubeAnswer['body']): ExpectedError[] {
  const unknown = [...String(body.message).matchAll(/unknown field "([^"]+)"/g)].map(([, path = '']) => ({
    path,
    message: 'unknown field',
  }));
  const causes: readonly { field: string; message: string }[] = body.details?.causes ?? [];
  // a server writes a map's members as tiers[flex] or tiers.flex, depending on the check
  const named = causes.map(({ field, message }) => ({
    path: field === '<nil>' ? '' : field.replaceAll(/\[([a-z]\w*)\]/gi, '.$1'),
    message,
  }));
  return [...unknown, ...named.filter(({ message }) => !NOT_CHECKED.test(message))];
}

const NOT_CHECKED = /some validation rules were not checked|Checked value must be of type/;
const COULD_NOT_JUDGE = / evaluating rule: /;
const ONLY_UNKNOWN_FIELDS = /strict decoding error/;

/**
 * Asserts that the server reports exactly what is expected. After unknown fields it reports nothing more; after a
 * structural error it skips rules, or reports that it could not evaluate them.
 */
function assertExpectedCauses(body: KubeAnswer['body'], expected: readonly ExpectedError[]): void {
  const causes = causesOf(body).filter(
    (cause) => !(COULD_NOT_JUDGE.test(cause.message) && expected.some(({ path }) => path === cause.path)),
  );
  const matches = (cause: ExpectedError, { path, message }: ExpectedError): boolean =>
    cause.path === path && sameMessage(cause.message, message);
  const surplus = causes.filter((cause) => !expected.some((error) => matches(cause, error)));
  const blocked = [NOT_CHECKED, COULD_NOT_JUDGE, ONLY_UNKNOWN_FIELDS].some((remark) => remark.test(body.message));
  const notSaid = blocked ? [] : expected.filter((error) => !causes.some((cause) => matches(cause, error)));
  assert.deepEqual({ surplus, notSaid }, { surplus: [], notSaid: [] });
}

/** The server uses Go's number types for a schema with a format. */
function sameMessage(theirs: string, part: string): boolean {
  return theirs.replace('of type int32: "float64"', 'of type integer: "number"').includes(part);
}

/** The same definition with every list and map that many times as long. */
function enlarged<T>(value: T, times: number): T {
  return JSON.parse(JSON.stringify(value), (key: string, item: unknown) =>
    /^max(Items|Properties)$/.test(key) && typeof item === 'number' ? item * times : item,
  ) as T;
}

/** Under another name, so that a dry run does not conflict with the installed one. */
function renamed(definition: Definition): Definition {
  const { names } = definition.spec;
  const other = {
    plural: `x${names.plural}`,
    singular: `x${names.plural}x`,
    kind: `X${names.plural}`,
    listKind: `X${names.plural}List`,
  };
  return {
    metadata: { name: `${other.plural}.${definition.spec.group}` },
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    spec: { ...definition.spec, names: other },
  } as Definition;
}
