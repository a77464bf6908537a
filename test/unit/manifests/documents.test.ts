/** Manifests as text: documents, places of mistakes, and Secrets, which never appear in messages. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { splitDocuments } from '#manifests/split-documents.ts';
import { formatDiagnostic } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { allOf } from '#objects/resources.ts';
import { accountsOf, loadText, newLoader, resourcesOf } from '../operator/support.ts';

async function problemsOf(text: string): Promise<string[]> {
  return (await loadText(text).diagnose()).map(formatDiagnostic);
}

describe('splitDocuments', () => {
  const line = fc.constantFrom(
    '---',
    '--- # comment',
    '---\t',
    '----',
    '---a',
    'a: 1',
    'b: |',
    '  text',
    '# comment',
    '',
    ' ---',
    '...',
    '- x',
  );
  const stream = fc.array(line).map((lines) => lines.join('\n'));

  test('returns texts that add up to the stream, each with its line', () => {
    fc.assert(
      fc.property(stream, (text) => {
        const documents = splitDocuments(text);
        assert.equal(documents.map((one) => one.text).join(''), text);
        let before = '';
        for (const one of documents) {
          assert.equal(one.firstLine, before.split('\n').length - 1);
          before += one.text;
        }
      }),
    );
  });

  test('agrees with the YAML parser on where documents end', () => {
    fc.assert(
      fc.property(stream, (text) => {
        const whole = parseAllDocuments(text, { logLevel: 'silent' });
        fc.pre(Array.isArray(whole) && whole.every(({ errors }) => errors.length === 0));
        const values = (part: string): unknown[] => {
          const parsed = parseAllDocuments(part, { logLevel: 'silent' });
          return Array.isArray(parsed)
            ? parsed.map((document) => document.toJS() as unknown).filter((value) => value !== null)
            : [];
        };
        assert.deepEqual(
          splitDocuments(text).flatMap((one) => values(one.text)),
          values(text),
        );
      }),
    );
  });

  test('accepts a byte order mark and Windows line ends', () => {
    const { namespaces } = resourcesOf(
      '\uFEFFapiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: ' +
        'one}\r\n---\r\napiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: two}\r\n',
    );
    assert.deepEqual([...namespaces.keys()], ['one', 'two']);
  });
});

describe('mistakes', () => {
  test('are all reported at once, each with the line of its field', async () => {
    const problems = await loadText(`# a comment
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: ok, namespace: team-a}
spec: {}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: Ci
  namespace: team-a
spec:
  groupRef: {name: main}
  quota:
    limitUsd: 25
  enabeld: true
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec:
  priceRatio: "1,5"
  routes:
  - routeSelector: {}
    routeRef: {name: x}
---
kind: Pod
apiVersion: modelgateway.dev/v1alpha1
---
- not an object
`).diagnose();
    const places = problems.map(({ line, path, object }) => ({ line, path, object }));
    const team = 'ApiKey team-a/Ci';
    assert.deepEqual(
      new Set(places.map((place) => JSON.stringify(place))),
      new Set(
        [
          { line: 10, path: 'metadata.name', object: team },
          { line: 12, path: 'spec.accountRef', object: team },
          { line: 15, path: 'spec.quota.limitUsd', object: team },
          { line: 16, path: 'spec.enabeld', object: team },
          { line: 22, path: 'spec.priceRatio', object: 'Group model-gateway/main' },
          { line: 24, path: 'spec.routes[0]', object: 'Group model-gateway/main' },
          { line: 27, path: 'kind' },
          { line: 30, path: '' },
        ].map((place) => JSON.stringify({ line: place.line, path: place.path, object: place.object })),
      ),
    );
    assert.ok(
      problems.every(({ file, severity, message }) => file === 'test.yaml' && severity === 'Error' && message !== ''),
    );
  });

  test('of YAML are reported for their document only, at their line', async () => {
    const loaded = loadText(
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n---\na: [1\nb: ' +
        '2\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: two}\n',
    );
    const problems = await loaded.diagnose();
    assert.ok(problems.length > 0);
    assert.ok(
      problems.every(({ line, message }) => line >= 5 && line <= 7 && message.startsWith('YAML: ')),
      JSON.stringify(problems),
    );
    assert.deepEqual([...loaded.resources.namespaces.keys()], ['one', 'two']);
  });

  test('in identity: a duplicate object is reported with both places', async () => {
    const account =
      'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: a, namespace: b}\nspec: {}\n';
    assert.deepEqual(await problemsOf(`${account}---\n${account}`), [
      'test.yaml:6: error: Account b/a: duplicate object: already in test.yaml:1',
    ]);
    const load = newLoader();
    const problems = await load([
      { path: 'one.yaml', text: account },
      { path: 'two.yaml', text: `\n\n${account}` },
    ]).diagnose();
    assert.deepEqual(problems.map(formatDiagnostic), [
      'two.yaml:3: error: Account b/a: duplicate object: already in one.yaml:1',
    ]);
  });

  test('include a duplicate key in a map', async () => {
    assert.deepEqual(await problemsOf('apiVersion: v1\nkind: Namespace\nkind: Namespace\nmetadata: {name: one}\n'), [
      'test.yaml:3:1: error: YAML: the key "kind" appears twice in its map; write --- between two objects',
    ]);
    assert.deepEqual(await problemsOf('metadata:\n  labels:\n    a: b\n  labels:\n    c-1: d\n    c-1: e\n'), [
      'test.yaml:4:3: error: YAML: the key "labels" appears twice in its map',
      'test.yaml:6:5: error: YAML: this key appears twice in its map',
    ]);
  });

  test('of a missing separator between objects are one, at the second object', async () => {
    const group = 'apiVersion: modelgateway.dev/v1alpha1\nkind: Group\nmetadata:\n  name: a\nspec:\n  type: Direct\n';
    assert.deepEqual(await problemsOf(group + group), [
      'test.yaml:7:1: error: YAML: the key "apiVersion" appears twice in its map; write --- between two objects',
    ]);
  });

  test('of indentation by tabs are one, at the first of them', async () => {
    for (const text of ['a:\n\tb: 1\n\tc: 2\n\td:\n\t\te: 1\n', 'a: 1\n\tb: 2\n  c: 3\n', 'a:\n\t- b: 1\n\t  c: 2\n'])
      assert.deepEqual(await problemsOf(text), [
        'test.yaml:2:1: error: YAML: a tab indents this line; indent with spaces',
      ]);
  });

  test('of a quote that is not closed are at the quote', async () => {
    for (const quote of ['"', "'"])
      assert.deepEqual(await problemsOf(`a: 1\nb: ${quote}c\nd: 2\ne: 3\n`), [
        'test.yaml:2:4: error: YAML: a quote that is not closed',
      ]);
  });

  test('of YAML have words without terms of its specification', async () => {
    for (const [text, said] of [
      ['a: [1, 2\nb: 1\n', '2:1: error: YAML: a ] is missing before this line'],
      ['a: {b: 1\nc: 2\n', '2:1: error: YAML: a } is missing before this line'],
      ['- a\nb: c\n', '2:1: error: YAML: unexpected text after the end of a value'],
      ['a:1\nb: 2\n', '1:1: error: YAML: a key without a value; a colon and a space separate the two'],
      [
        'a: 1\n  b: 2\n',
        '1:4: error: YAML: a second key on this line, or a next line that is indented too far; put a value that ' +
          'contains ": " in quotes',
      ],
      ['a: @b\n', '1:4: error: YAML: a value cannot start with this character; put the value in quotes'],
    ] as const)
      assert.deepEqual(await problemsOf(text), [`test.yaml:${said}`]);
  });

  test('report the known kinds for an unknown one, and the right version for an unknown one', async () => {
    assert.match(
      (await problemsOf('apiVersion: modelgateway.dev/v1alpha1\nkind: Acount\n'))[0] ?? '',
      /:2:1: error: kind: unknown kind "Acount"; .*ApiKey.*Secret/,
    );
    assert.match(
      (await problemsOf('apiVersion: modelgateway.dev/v9\nkind: Account\nmetadata: {name: a}\nspec: {}\n'))[0] ?? '',
      /:1:1: error: .*apiVersion.*modelgateway\.dev\/v1alpha1/,
    );
    assert.match(
      (await problemsOf('apiVersion: v2\nkind: Secret\nmetadata: {name: a}\n'))[0] ?? '',
      /:1:1: error: .*apiVersion: must be v1/,
    );
    assert.match((await problemsOf('a: 1\n'))[0] ?? '', /kind: required/);
  });

  test('have the nearest place that exists, through anchors and merges', async () => {
    const [problem] = await loadText(
      'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ' +
        'a}\nspec:\n  grants:\n  - &one {name: one, usd: "1"}\n  - {<<: *one, name: two, usd: no}\n',
    ).diagnose();
    assert.deepEqual([problem?.line, problem?.path], [7, 'spec.grants[1].usd']);
  });

  test('are limited in aliases', async () => {
    const levels = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${Array.from({ length: 9 }, () => `*l${index}`).join(', ')}]`,
    );
    assert.match((await problemsOf(`l0: &l0 [x]\n${levels.join('\n')}\n`))[0] ?? '', /too many aliases/);
  });

  test("never repeat a Secret's value", async () => {
    const secret = 'sk-very-secret-value';
    const texts = [
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: [${secret}]}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {apiKey: ${secret}}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: ${secret}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: *${secret}}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: x, apiKey: ${secret}}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: "x" ${secret}}`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  apiKey: |x${secret}\n    y`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: "\\q${secret}"}`,
      `%${secret}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: "x`,
      `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n\tapiKey: ${secret}`,
    ];
    for (const text of texts) {
      const problems = await problemsOf(text);
      assert.notDeepEqual(problems, [], text);
      assert.ok(!problems.join().includes(secret), problems.join());
    }
  });
});

describe('Secrets and Namespaces', () => {
  test('have base64 in data, plain text in stringData, which takes precedence', () => {
    const { secrets } = resourcesOf(
      'apiVersion: v1\nkind: Secret\ntype: Opaque\nimmutable: true\nmetadata: {name: ' +
        'a, annotations: {note: x}}\ndata: {one: b25l, two: "dHdv\\n"}\nstringData: {two: zwei, three: "drei"}\n',
    );
    const secret = secrets.get('model-gateway')?.get('a');
    assert.deepEqual(
      secret?.data,
      new Map([
        ['one', 'one'],
        ['two', 'zwei'],
        ['three', 'drei'],
      ]),
    );
    assert.deepEqual(secret?.annotations, { note: 'x' });
  });

  test('have mistakes reported: values that are not strings or base64, and unknown fields', async () => {
    const problems = await loadText(
      'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  bad: ' +
        '"%%%"\nstringData:\n  number: 5\n  "bad name": x\nstringdata: {}\n',
    ).diagnose();
    assert.deepEqual(
      problems.map(({ line, path }) => [line, path]),
      [
        [5, 'data.bad'],
        [7, 'stringData.number'],
        [8, 'stringData.bad name'],
        [9, 'stringdata'],
      ],
    );
  });

  test('are known by their manifest, with labels, or because an object names them', () => {
    const { namespaces } = resourcesOf(
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {team: a}}\n---\napiVersion: ' +
        'modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: a, namespace: team-b}\nspec: {}\n',
    );
    assert.deepEqual(
      [...namespaces],
      [
        ['team-a', { team: 'a' }],
        ['team-b', {}],
      ],
    );
  });
});

describe('objects', () => {
  const account = (spec: string, meta = '') =>
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: a${meta}}\nspec: ${spec}\n`;

  test("have defaults, the gateway's namespace, an identity and no status", () => {
    const [object] = accountsOf(`${account('{}', ', uid: from-elsewhere')}status: {creditUsd: "7"}\n`);
    assert.equal(object?.spec.gatewayNamespace, 'model-gateway');
    assert.deepEqual(object.metadata, {
      name: 'a',
      namespace: 'model-gateway',
      uid: 'model-gateway/a',
      labels: {},
      annotations: {},
      generation: 1,
    });
    assert.ok(!('status' in object));
    assert.ok(Object.isFrozen(object.spec));
  });

  test('keep a valid creation time', async () => {
    const [object] = accountsOf(account('{}', ', creationTimestamp: "2026-01-01T00:00:00Z"'));
    assert.equal(object?.metadata.creationTimestamp, '2026-01-01T00:00:00Z');
    assert.equal(accountsOf(account('{}', ', creationTimestamp: null'))[0]?.metadata.creationTimestamp, undefined);
    assert.match(
      (await problemsOf(account('{}', ', creationTimestamp: yesterday')))[0] ?? '',
      /metadata.creationTimestamp/,
    );
  });

  test('have a generation that grows only with their spec, and starts at the start time', () => {
    const load = newLoader(1_800_000_000_000);
    const generationOf = (text: string): number =>
      allOf(load([{ path: 'a.yaml', text }]).resources.accounts)[0]?.metadata.generation ?? 0;
    const first = generationOf(account('{}'));
    assert.ok(first > 1_800_000_000_000);
    assert.equal(generationOf(account('{}', ', labels: {x: "y"}')), first);
    const second = generationOf(account('{grants: [{name: g, usd: "1"}]}'));
    assert.ok(second > first);
    assert.equal(generationOf('# moved\n\n' + account('{grants: [{name: g, usd: "1"}]}')), second);
    assert.ok(generationOf(account('{}')) > second, 'back to the first spec is a change too');
    load([]);
    assert.ok(generationOf(account('{}')) > second, 'made anew');
  });
});

describe('values that kubectl reads in another way', () => {
  /** As go-yaml resolves them: an API server refuses the first, and stores another number for the second. */
  const AMBIGUOUS = {
    boolean: ['yes', 'Yes', 'YES', 'no', 'No', 'NO', 'on', 'On', 'ON', 'off', 'Off', 'OFF', 'y', 'Y', 'n', 'N'],
    number: ['010', '-010', '+010', '0b11', '0X1F', '0O10', '1_000', '1_', '0_10', '1_000.5', '1__0', '+0x1f'],
  };
  const PLAIN = [
    '0',
    '10',
    '-1',
    '+1',
    '1.5',
    '.5',
    '1.',
    '1e3',
    '089',
    '00',
    '0o10',
    '0x1F',
    '0x1p-2',
    '1_a',
    '_1',
    '1.2.3',
    'true',
    'False',
    'null',
    '~',
    '12:30',
    '2026-01-01',
    '2026-01-01T00:00:00Z',
    'yes-no',
    'no way',
    'Yesterday',
    '"yes"',
    "'010'",
    '!!str no',
    '"1_000"',
  ];
  const places = (scalar: string): readonly string[] => [
    `kind: Namespace\napiVersion: v1\nmetadata:\n  name: a\n  labels: {tier: ${scalar}}\n`,
    `kind: Namespace\napiVersion: v1\nmetadata:\n  name: a\n  labels:\n    tier: ${scalar} # comment\n`,
    `kind: Namespace\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  finalizers:\n    - ${scalar}\n`,
  ];
  const hintsFor = async (text: string): Promise<readonly Diagnostic[]> =>
    (await loadText(text).diagnose()).filter(({ message }) => message.includes('kubectl'));
  for (const [what, scalars] of Object.entries(AMBIGUOUS))
    test(`are mistakes: a ${what}`, async () => {
      for (const scalar of scalars)
        for (const text of [...places(scalar), `${scalar}: 1\n`]) {
          const [hint, ...more] = await hintsFor(text);
          assert.ok(hint && more.length === 0, `${scalar} in ${text}`);
          const line = text.split('\n')[hint.line - 1] ?? '';
          assert.ok(line.slice((hint.column ?? 0) - 1).startsWith(scalar), `${scalar} at ${hint.line}:${hint.column}`);
          assert.match(hint.message, what === 'boolean' ? /boolean.*quotes/ : /number.*quotes/);
        }
    });
  test('are no others', async () => {
    for (const scalar of PLAIN)
      for (const text of places(scalar)) assert.deepEqual(await hintsFor(text), [], `${scalar} in ${text}`);
  });
  test('are all found, and repeat nothing of a Secret', async () => {
    const text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: on}\nstringData:\n  apiKey: 0123456\n';
    const hints = await hintsFor(text);
    assert.deepEqual(
      hints.map(({ line, column }) => [line, column]),
      [
        [3, 18],
        [5, 11],
      ],
    );
    assert.doesNotMatch(JSON.stringify(await loadText(text).diagnose()), /123456/);
  });
});

describe('objects for other programs', () => {
  const FOREIGN = {
    'ConfigMap of Kubernetes': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n',
    'ExternalSecret of external-secrets.io':
      'apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\n',
    'SealedSecret of bitnami.com': 'apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: a}\n',
    'Deployment of apps': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n',
    SOPS: 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: "ENC[]"}\nsops: {mac: "ENC[]"}\n',
  };
  for (const [name, text] of Object.entries(FOREIGN))
    test(`are left out with a line: ${name}`, async () => {
      const loaded = loadText(`\n---\n${text}`);
      assert.deepEqual(await loaded.diagnose(), []);
      assert.deepEqual([loaded.isValid, loaded.origins.size, loaded.warnings.length], [true, 0, 1]);
      const [warning] = loaded.warnings;
      assert.deepEqual([warning?.severity, warning?.line], ['Warning', 3]);
      assert.ok(warning?.message.startsWith('ignored: ') && warning?.message.includes(name));
    });
  test('are not lists, nor mistaken kinds of the gateway', async () => {
    assert.match(
      (await problemsOf('apiVersion: v1\nkind: List\nitems: []\n'))[0] ?? '',
      /2:1: error: kind: a List is not/,
    );
    assert.match((await problemsOf('kind: ConfigMap\nmetadata: {name: a}\n'))[0] ?? '', /unknown kind "ConfigMap"/);
    assert.match((await problemsOf('apiVersion: other.dev/v1\nkind: ApiKey\n'))[0] ?? '', /apiVersion/);
  });
});
