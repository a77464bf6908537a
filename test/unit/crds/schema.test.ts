/** The verdict on every manifest of testdata/, without an API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { JsonObject } from '#crds/json.ts';
import type { Rule, SchemaNode } from '#crds/kind-schema.ts';
import { loadApiKinds } from '#crds/load.ts';
import { admit } from '#crds/schema.ts';
import { patternWords } from '#crds/structure.ts';
import { pattern } from '../../support/pattern.ts';
import { loadSituations } from './situations.ts';

const kinds = await loadApiKinds();
const situations = await loadSituations();
const OF_ACCOUNT = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Account' };

describe('admit', () => {
  for (const { name, kind, object, expected } of situations) {
    it(name, () => {
      const schema = kinds.get(kind);
      assert.ok(schema);
      const { errors } = admit(schema, object);
      const surplus = errors.filter(
        (error) => !expected.some(({ path, message }) => error.path === path && error.message.includes(message)),
      );
      const missing = expected.filter(
        ({ path, message }) => !errors.some((error) => error.path === path && error.message.includes(message)),
      );
      assert.deepEqual(
        { surplus: surplus.map(({ path, message }) => ({ path, message })), missing },
        { surplus: [], missing: [] },
      );
    });
  }
});

describe('admit, for objects that a server would not decode,', () => {
  const cases: readonly [what: string, object: JsonObject, expected: readonly [path: string, message: RegExp][]][] = [
    [
      'another kind and version',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'a' },
        spec: {},
      },
      [
        ['apiVersion', /must be modelgateway\.dev\/v1alpha1/],
        ['kind', /must be Account/],
      ],
    ],
    ['metadata of another type', { ...OF_ACCOUNT, metadata: 'a', spec: {} }, [['metadata', /must be of type object/]]],
    [
      'a name of another type',
      {
        ...OF_ACCOUNT,
        metadata: { name: 1 },
        spec: {},
      },
      [['metadata.name', /must be of type string/]],
    ],
    [
      'a label of another type',
      {
        ...OF_ACCOUNT,
        metadata: { name: 'a', labels: { team: 1 } },
        spec: {},
      },
      [['metadata.labels', /must be of type string/]],
    ],
    [
      'labels of another type',
      {
        ...OF_ACCOUNT,
        metadata: { name: 'a', labels: ['a'] },
        spec: {},
      },
      [['metadata.labels', /must be of type object/]],
    ],
    [
      'a namespace that is none',
      {
        ...OF_ACCOUNT,
        metadata: { name: 'a', namespace: 'a.b' },
        spec: {},
      },
      [['metadata.namespace', /a namespace consists of/]],
    ],
    [
      'a spec of another type',
      {
        ...OF_ACCOUNT,
        metadata: { name: 'a' },
        spec: [],
      },
      [['spec', /must be of type object/]],
    ],
  ];
  for (const [what, object, expected] of cases) {
    it(`refuses ${what}`, () => {
      const { errors } = admit(kinds.get('Account')!, object);
      assert.deepEqual(errors.map(({ path }) => path).sort(), expected.map(([path]) => path).sort());
      for (const [path, message] of expected)
        assert.match(errors.find((error) => error.path === path)?.message ?? '', message);
    });
  }

  it('does not change its argument', () => {
    const object = { ...OF_ACCOUNT, metadata: { name: 'a' }, spec: { grants: null }, status: { balanceUsd: '1' } };
    const before = structuredClone(object);
    admit(kinds.get('Account')!, object);
    assert.deepEqual(object, before);
  });

  it('repeats no credential', () => {
    const channel = (baseUrl: string, secret: string): JsonObject => ({
      name: 'a',
      protocol: 'OpenAI',
      baseUrl,
      auth: { type: 'ApiKey', secretRef: { name: secret, key: `/${secret}` } },
    });
    const channels = [
      { ...channel('https://user:hunter2@host/v1', 'sk-Hunter2'), proxyUrl: 'http://me:hunter2@proxy.test:3128' },
      channel('https://host/v1?key=hunter2', 'sk-ant-HUNTER2'),
    ];
    const object = {
      apiVersion: OF_ACCOUNT.apiVersion,
      kind: 'ModelRoute',
      metadata: { name: 'sk-Hunter2' },
      spec: {
        models: [{ name: 'm', endpoints: ['sk-hunter2'] }],
        channels,
      },
    };
    const { errors } = admit(kinds.get('ModelRoute')!, object);
    assert.equal(errors.length, 10);
    assert.deepEqual(
      errors.filter(({ message }) => /hunter2/i.test(message)),
      [],
    );
  });

  it('reports one mistake in words for a value that does not match a pattern', () => {
    const messagesOf = (kind: 'ApiKey' | 'PriceCatalog', spec: JsonObject): string[] =>
      admit(kinds.get(kind)!, { ...OF_ACCOUNT, kind, metadata: { name: 'a' }, spec }).errors.map(
        (error) => error.message,
      );
    const key = { groupRef: { name: 'a' }, accountRef: { name: 'a' } };
    const time = 'must be a time such as 2027-01-01T00:00:00Z';
    assert.deepEqual(messagesOf('ApiKey', { ...key, expirationTime: '2020-01-01' }), [
      `Invalid value: "2020-01-01": ${time}`,
    ]);
    assert.deepEqual(messagesOf('ApiKey', { ...key, expirationTime: '2027-01-01t00:00:00z' }), [
      `Invalid value: "2027-01-01t00:00:00z": ${time}`,
    ]);
    const model = { name: 'm', vendor: 'v', quotaType: 'Token', modelRatio: '1', perSecondUsd: 'x' };
    const said = messagesOf('PriceCatalog', { models: [model] });
    assert.ok(
      said.includes(
        'Invalid value: "x": must be an amount in USD such as "1.25", at most 9000000000, with at most 9 decimals',
      ),
      said.join(),
    );
  });

  it('returns the path of a mistake in segments too', () => {
    const [error] = admit(kinds.get('Account')!, {
      ...OF_ACCOUNT,
      metadata: { name: 'a' },
      spec: { grants: [{ name: 'a', usd: 'x' }] },
    }).errors;
    assert.deepEqual(error?.segments, ['spec', 'grants', 0, 'usd']);
  });
});

describe('testdata', () => {
  it('breaks every rule at least once', () => {
    const said = situations.flatMap(({ kind, object }) =>
      admit(kinds.get(kind)!, object).errors.map(({ path, message }) => ({
        kind,
        path: path.replaceAll(/\[\d+\]/g, '[]'),
        message,
      })),
    );
    const unbroken = [...kinds.values()].flatMap(({ kind, root }) =>
      rulesOf(root, '')
        .filter(
          ({ path, rule }) =>
            !said.some(
              (error) => error.kind === kind && isBelow(error.path, path) && error.message.endsWith(rule.message),
            ),
        )
        .map(({ path, rule }) => `${kind} ${path}: ${rule.message}`),
    );
    assert.deepEqual(unbroken, []);
  });
});

/** `*` in the second path stands for any member of a map. */
function isBelow(path: string, place: string): boolean {
  const [parts, wanted] = [path.split('.'), place.split('.')];
  return wanted.every((part, index) => part === '*' || part === parts[index]);
}

describe('the schemas', () => {
  for (const { kind, root } of kinds.values()) {
    it(`of ${kind} bound every value`, () => {
      assert.deepEqual(
        nodesOf(root, '')
          .filter(({ path, node }) => !path.startsWith('metadata') && !isBounded(node))
          .map(({ path }) => path),
        ['apiVersion', 'kind'],
      );
    });

    it(`of ${kind} describe every field and set every list's type`, () => {
      const nodes = nodesOf(root, '').filter(({ path }) => path !== 'metadata');
      assert.deepEqual(
        nodes.filter(({ node }) => !/^[A-Z].*\.$/.test(node.description ?? '')).map(({ path }) => path),
        [],
      );
      assert.deepEqual(
        nodes.filter(({ node }) => node.type === 'array' && !node['x-kubernetes-list-type']).map(({ path }) => path),
        [],
      );
    });

    it(`of ${kind} have words for every pattern`, () => {
      const patterns = nodesOf(root, '').filter(({ path }) => path.startsWith('spec'));
      assert.deepEqual(
        patterns.filter(({ node }) => node.pattern && !patternWords(node.pattern)).map(({ path }) => path),
        [],
      );
    });

    it(`of ${kind} explain every rule`, () => {
      const mute = rulesOf(root, '').filter(({ rule }) => rule.message.length < 20 || rule.message.length > 200);
      assert.deepEqual(mute, []);
    });
  }
});

interface Place {
  readonly path: string;
  readonly node: SchemaNode;
}

/** All nodes of a schema; items are `path[]`. */
function nodesOf(node: SchemaNode, path: string): Place[] {
  const below = Object.entries(node.properties ?? {}).flatMap(([field, child]) =>
    nodesOf(child, path ? `${path}.${field}` : field),
  );
  const items = node.items ? nodesOf(node.items, `${path}[]`) : [];
  const values = node.additionalProperties ? nodesOf(node.additionalProperties, `${path}.*`) : [];
  return [{ path, node }, ...below, ...items, ...values];
}

/** The rules that need no old object. */
function rulesOf(root: SchemaNode, path: string): { path: string; rule: Rule }[] {
  return nodesOf(root, path).flatMap(({ path: at, node }) =>
    (node['x-kubernetes-validations'] ?? [])
      .filter(({ rule }) => !rule.includes('oldSelf'))
      .map((rule) => ({ path: at, rule })),
  );
}

function isBounded(node: SchemaNode): boolean {
  switch (node.type) {
    case 'string':
      return node.enum !== undefined || node.maxLength !== undefined;
    case 'array':
      return node.maxItems !== undefined;
    case 'integer':
      return node.minimum !== undefined;
    case 'object':
      return node.additionalProperties === undefined || node.maxProperties !== undefined;
    default:
      return true;
  }
}

describe("a group's name", () => {
  const messageOf = (kind: 'Group' | 'Account', name: string): string => {
    const object = { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name }, spec: {} };
    return admit(kinds.get(kind)!, object).errors.find(({ path }) => path === 'metadata.name')?.message ?? '';
  };
  it('with capitals or spaces is refused with a valid suggestion and displayName', () => {
    assert.match(
      messageOf('Group', 'Auto-A'),
      pattern(
        /^Invalid value: "Auto-A": a name consists of lower-case letters.*; /,
        /call it auto-a, and write the name that people see into spec\.displayName: "Auto-A"$/,
      ),
    );
    assert.match(messageOf('Group', 'Very Important'), /; call it very-important, and .*"Very Important"$/);
  });
  it('without a valid suggestion, or of another kind, is refused as by an API server', () => {
    for (const message of [messageOf('Group', '***'), messageOf('Account', 'Team-A')])
      assert.match(message, /with a letter or digit at both ends of each part$/);
  });
});
