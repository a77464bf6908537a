/**
 * The architecture of the code: imports between parts, no cycles, no barrels, sizes, purity and wiring. The rules are
 * in test/support/architecture/; the second half of this file plants violations to show that each rule finds what it
 * forbids.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import type { Source, Violation } from '../support/architecture/facts.ts';
import { DESCRIPTIONS, isWithin, LAYOUT, PURE, ROOMS } from '../support/architecture/layout.ts';
import { checkFiles, checkSources } from '../support/architecture/rules.ts';
import { readSource } from '../support/architecture/source.ts';
import { pattern } from '../support/pattern.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRODUCT = [
  'bin',
  'console',
  'contract',
  'crds',
  'dataplane',
  'demo',
  'kube',
  'manifests',
  'operator',
  'programs',
  'runtime',
  'web',
];

function sourcesIn(folders: readonly string[]): Source[] {
  return globSync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  )
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

function told(violations: readonly Violation[], rules?: readonly Violation['rule'][]): string[] {
  return violations
    .filter((each) => rules?.includes(each.rule) ?? true)
    .map((each) => `${each.path}:${each.line} [${each.rule}] ${each.message}`);
}

describe('the product', () => {
  const sources = sourcesIn(PRODUCT);
  const files = sources.map(readSource);
  const violations = checkFiles(files);

  it('is not empty', () => {
    assert.ok(sources.length > 100, `${sources.length} files`);
    for (const path of [
      'bin/main.ts',
      'operator/translate/translate.ts',
      'dataplane/pipeline/pipeline.ts',
      'crds/schema/schema.ts',
    ]) {
      assert.ok(
        sources.some((source) => source.path === path),
        path,
      );
    }
  });
  it('follows the layout', () => assert.deepEqual(told(violations, ['folder', 'arrow', 'package']), []));
  it('has no cycles', () => assert.deepEqual(told(violations, ['cycle']), []));
  it('has no barrel files', () => assert.deepEqual(told(violations, ['barrel']), []));
  it('keeps files and functions small', () => assert.deepEqual(told(violations, ['size', 'median']), []));
  it('keeps pure files pure', () => assert.deepEqual(told(violations, ['purity']), []));
  it('is wired only by the command line and the composition roots', () =>
    assert.deepEqual(told(violations, ['wiring']), []));
  it('uses only public parts of packages and of Node', () => assert.deepEqual(told(violations, ['private']), []));
  it('gives a reason for every any', () => assert.deepEqual(told(violations, ['any']), []));
  it('has a file for every line of the tables', () => {
    for (const part of Object.keys(LAYOUT))
      assert.ok(
        sources.some(({ path }) => path === part || path.startsWith(`${part}/`)),
        `no file in ${part}`,
      );
    for (const [room, arrows] of Object.entries(ROOMS))
      for (const place of [...Object.keys(arrows), ...Object.values(arrows).flat()])
        assert.ok(
          sources.some(({ path }) => isWithin(path, `${room}/${place}`)),
          `nothing in ${room}/${place}`,
        );
    for (const part of Object.keys(DESCRIPTIONS)) assert.ok(LAYOUT[part], `${part} is described, and is no part`);
    for (const pattern of PURE)
      assert.ok(
        sources.some(({ path }) => pattern.test(path)),
        `nothing matches ${pattern}`,
      );
  });
  it('forbids mutual imports between parts', () => {
    for (const [part, { may }] of Object.entries(LAYOUT)) {
      for (const other of may.filter((place) => LAYOUT[place] !== undefined)) {
        assert.ok(
          !LAYOUT[other]?.may.some((place) => part === place || part.startsWith(`${place}/`)),
          `${part} ↔ ${other}`,
        );
      }
    }
  });
});

describe('the arrows within a part', () => {
  it('are all used', () => {
    const files = sourcesIn(Object.keys(ROOMS)).map(readSource);
    for (const [room, arrows] of Object.entries(ROOMS))
      for (const [place, may] of Object.entries(arrows))
        for (const folder of may)
          assert.ok(
            files.some(
              ({ path, imports }) =>
                isWithin(path, `${room}/${place}`) &&
                imports.some(({ file = '' }) => isWithin(file, `${room}/${folder}`)),
            ),
            `nothing in ${room}/${place} imports ${folder}`,
          );
  });
  it('lead from folder to folder in no circle', () => {
    for (const arrows of Object.values(ROOMS)) {
      const reached = (from: string): string[] =>
        (arrows[from] ?? []).flatMap((folder) => [folder, ...reached(folder)]);
      for (const folder of Object.keys(arrows).filter((place) => !place.endsWith('.ts')))
        assert.ok(!reached(folder).includes(folder), folder);
    }
  });
});

describe('the checker', () => {
  const check = (files: Record<string, string>): string[] =>
    told(checkSources(Object.entries(files).map(([path, text]) => ({ path, text }))));
  const one = (files: Record<string, string>): string => {
    const found = check(files);
    assert.equal(found.length, 1, found.join('\n'));
    return found[0] ?? '';
  };

  it('accepts correct code', () => {
    assert.deepEqual(
      check({
        'contract/snapshot/decimal.ts': 'export const x = (now: number): Date => new Date(now);\n',
        'dataplane/state/compile.ts':
          'import { x } from "#snapshot/decimal.ts";\nimport type { UpstreamTarget } from ' +
          '"../upstream/upstream.ts";\nexport type T = ReturnType<typeof fetch> & UpstreamTarget;\nexport const y = ' +
          'x(1);\n',
        'dataplane/upstream/upstream.ts':
          'export interface UpstreamTarget { readonly id: string; process: { readonly crypto: 1 } }\n',
      }),
      [],
    );
  });

  const arrows: [from: string, to: string][] = [
    ['crds/schema/schema.ts', '../../contract/objects/resources.ts'],
    ['operator/translate/translate.ts', '../sources/folder/provider.ts'],
    ['operator/translate/translate.ts', '#ledger/spending.ts'],
    ['operator/status/writer.ts', '../../dataplane/ledger/embedded.ts'],
    ['operator/status/writer.ts', '../../console/route.ts'],
    ['operator/reconcile/controller.ts', '../../dataplane/ledger/ledger.ts'],
    ['console/components/layout.ts', '#kube/client.ts'],
    ['console/components/layout.ts', '../../operator/status/conditions.ts'],
    ['console/access/rights.ts', '../../operator/store/live-objects.ts'],
    ['console/keys/list.ts', '../../operator/translate/translate.ts'],
    ['console/keys/list.ts', '../wallet/query.ts'],
    ['console/components/table.ts', '../keys/query.ts'],
    ['console/data/sql-store.ts', '../../dataplane/ledger/valkey-reader.ts'],
    ['contract/objects/resources.ts', '../../operator/store/live-objects.ts'],
    ['contract/usage/record.ts', '../../dataplane/ledger/ledger.ts'],
    ['contract/ledger/spending.ts', '#objects/resources.ts'],
    ['kube/client.ts', '../operator/metrics.ts'],
    ['manifests/yaml.ts', '../operator/store/live-objects.ts'],
    ['dataplane/state/compile.ts', '#objects/resources.ts'],
    ['console/access/files.ts', '../server.ts'],
    ['console/data/sql-store.ts', '../route.ts'],
    ['operator/translate/translate.ts', '../../console/route.ts'],
    ['contract/snapshot/validate.ts', '../errors.ts'],
    ['dataplane/protocol/sse.ts', '#usage/record.ts'],
    ['dataplane/ledger/balances.ts', '../state/state.ts'],
    ['dataplane/state/compile.ts', '../upstream/client.ts'],
    ['dataplane/state/compile.ts', '../ledger/embedded.ts'],
    ['dataplane/state/compile.ts', '#crds/types.gen.ts'],
    ['dataplane/pipeline/pipeline.ts', '../server/app.ts'],
    ['dataplane/pipeline/pipeline.ts', '../ledger/embedded.ts'],
    ['dataplane/server/app.ts', '../upstream/client.ts'],
    ['dataplane/server/app.ts', '../../operator/store/live-objects.ts'],
    ['dataplane/server/app.ts', '../../console/route.ts'],
    ['demo/provider.ts', '../dataplane/errors.ts'],
  ];
  for (const [from, to] of arrows) {
    it(`finds ${from} importing ${to}, types included`, () => {
      assert.match(one({ [from]: `import type { X } from '${to}';\nexport type Y = X;\n` }), /\[arrow\]/);
    });
  }

  const arrowsWithin: [from: string, to: string][] = [
    ['dataplane/protocol/openai/facts.ts', '../anthropic/facts.ts'],
    ['dataplane/protocol/openai/facts.ts', '../providers/anthropic/chat.ts'],
    ['dataplane/protocol/providers/anthropic/chat.ts', '../../clients/responses/client.ts'],
    ['dataplane/protocol/anthropic/facts.ts', '../clients/gemini/client.ts'],
    ['dataplane/protocol/platforms/beta-members.ts', '../anthropic/facts.ts'],
    ['dataplane/protocol/sse.ts', './openai/facts.ts'],
    ['dataplane/protocol/openai-openai.ts', './providers/openai-chat/chat.ts'],
    ['dataplane/ledger/embedded/ledger-file.ts', '../valkey/operations.ts'],
    ['dataplane/ledger/valkey/operations.ts', '../embedded/ledger-file.ts'],
    ['dataplane/ledger/ledger.ts', './embedded/ledger-file.ts'],
    ['dataplane/ledger/valkey.ts', './embedded/ledger-file.ts'],
  ];
  for (const [from, to] of arrowsWithin) {
    it(`finds ${from} importing ${to} within its part`, () => {
      assert.match(
        one({ [from]: `import type { X } from '${to}';\nexport type Y = X;\n` }),
        /\[arrow\] may not import from dataplane/,
      );
    });
  }

  it('finds a folder within a part that has no line, and accepts the arrows that have one', () => {
    const text = (to: string): string => `import type { X } from '${to}';\nexport type Y = X;\n`;
    assert.match(one({ 'dataplane/protocol/novel/x.ts': 'export const x = 1;\n' }), /\[folder\] .*protocol/);
    assert.deepEqual(
      check({
        'dataplane/protocol/openai/provider.ts': text('../clients/responses/client.ts'),
        'dataplane/protocol/openai/facts.ts': text('../sse.ts'),
        'dataplane/protocol/anthropic/provider.ts': text('../providers/anthropic/chat.ts'),
        'dataplane/ledger/embedded.ts': text('./embedded/ledger-file.ts'),
      }),
      [],
    );
  });

  it('finds packages in the wrong parts', () => {
    assert.match(
      one({ 'dataplane/pipeline/pipeline.ts': `import { x } from 'fastify';\nexport const y = x;\n` }),
      /\[package\] .*fastify/,
    );
    assert.match(one({ 'dataplane/xs/x.ts': 'export const x = 1;\n' }), /\[folder\]/);
    assert.match(
      one({
        'dataplane/upstream/client.ts': `import type { X } from '@kubernetes/client-node';\nexport type Y = X;\n`,
      }),
      /\[package\]/,
    );
  });

  it('finds computed imports', () => {
    assert.match(
      one({ 'dataplane/upstream/client.ts': 'export const x = (name: string): Promise<unknown> => import(name);\n' }),
      /\[arrow\] .*run time/,
    );
  });

  it('finds a cycle, through aliases and types', () => {
    const found = one({
      'contract/ledger/a.ts': `import type { B } from './b.ts';\nexport type A = B;\n`,
      'contract/ledger/b.ts': `import type { C } from './c.ts';\nexport type B = C;\n`,
      'contract/ledger/c.ts': `import type { A } from '#ledger/a.ts';\nexport type C = A;\n`,
    });
    assert.match(
      found,
      pattern(
        /\[cycle\] contract\/ledger\/a\.ts → contract\/ledger\/b\.ts → /,
        /contract\/ledger\/c\.ts → contract\/ledger\/a\.ts/,
      ),
    );
  });

  it('finds barrels', () => {
    for (const text of [
      `export * from './a.ts';\n`,
      `export { a } from './a.ts';\n`,
      `export type { A } from './a.ts';\n`,
    ]) {
      assert.match(one({ 'dataplane/ledger/index.ts': text }), /\[barrel\]/);
    }
  });

  it('finds files and functions that are too large', () => {
    const calls = (count: number): string => '  f();\n'.repeat(count);
    const app = (text: string): string => one({ 'dataplane/server/app.ts': text });
    assert.match(app(`declare const f: () => void;\n${calls(600)}`), /app\.ts:1 \[size\] 601 lines/);
    assert.deepEqual(
      check({ 'dataplane/server/app.ts': 'export const x = 1;\n', 'dataplane/server/paths.gen.ts': calls(700) }),
      [],
    );
    assert.match(
      app('export const many = (a: 1, b: 1, c: 1, d: 1, e: 1): unknown => [a, b, c, d, e];\n'),
      /many has 5 parameters/,
    );
    const branches = '(x) || '.repeat(10);
    assert.match(
      app(`export class K { twisted(x: boolean): boolean { return ${branches}x; } }\n`),
      /twisted has a complexity of 11/,
    );
  });

  it('counts statements at any depth, however they are laid out, and those of a function within by themselves', () => {
    const size = (text: string): string[] => told(checkSources([{ path: 'dataplane/server/app.ts', text }]), ['size']);
    const long = (body: string): string => `export function long(f: () => void, x: boolean): void { ${body} }\n`;
    const calls = (count: number): string => 'f(); '.repeat(count);
    const found = (statements: number): string[] => [
      `dataplane/server/app.ts:1 [size] long has ${statements} statements, at most 40`,
    ];
    assert.deepEqual(size(long(calls(40))), []);
    assert.deepEqual(size(long(calls(41))), found(41));
    assert.deepEqual(size(long(calls(41).replaceAll(' ', '\n'))), found(41));
    assert.deepEqual(size(long(`if (x) { ${calls(20)} } else for (const y of [x]) { ${calls(20)} }`)), found(42));
    assert.deepEqual(size(long(`if (x) f(); ${calls(39)}`)), found(41));
    assert.deepEqual(size(long(`const inner = (): void => { ${calls(30)} }; ${calls(30)} inner();`)), []);
    assert.deepEqual(size(long(`function inner(): void { ${calls(30)} } ${calls(39)}`)), []);
    assert.deepEqual(size(long(`function inner(): void { ${calls(30)} } ${calls(40)}`)), found(41));
  });

  it('finds that half of the functions have many statements', () => {
    const functions = (...sizes: readonly number[]): string =>
      sizes.map((size, index) => `function f${index}(f: () => void): void { ${'f(); '.repeat(size)} }`).join('\n');
    assert.match(
      one({ 'dataplane/server/app.ts': functions(1, 16, 16) }),
      /\[median\] half of the functions have 16 statements or more/,
    );
    assert.deepEqual(check({ 'dataplane/server/app.ts': functions(1, 15, 16) }), []);
  });

  const impure = [
    'Date.now()',
    'new Date()',
    'Date()',
    'Math.random()',
    'Math["random"]()',
    'process.env',
    'setTimeout(() => 1, 1)',
    'fetch("x")',
    'console.log(1)',
    'performance.now()',
    'crypto.randomUUID()',
    'globalThis.fetch("x")',
    'globalThis["Date"]',
    'import.meta.url',
    '[1].map(() => Date.now())',
    '({ x: process })',
    '(process as unknown)',
  ];
  for (const expression of impure) {
    it(`finds ${expression} in a pure file`, () => {
      for (const path of [
        'dataplane/protocol/x.ts',
        'dataplane/state/compile-x.ts',
        'contract/price/price.ts',
        'operator/translate/x.ts',
        'console/components/x.ts',
        'console/keys/x.ts',
        'crds/schema/x.ts',
      ]) {
        assert.match(
          told(checkSources([{ path, text: `export const x = ${expression};\n` }]), ['purity']).join(),
          /\[purity\] uses/,
        );
      }
    });
  }

  it('accepts what is passed in', () => {
    assert.deepEqual(
      check({
        'dataplane/protocol/x.ts':
          'export const x = (fetch: () => Date, now: number): unknown ' +
          '=> [fetch(), new Date(now), { process: 1 }.process, globalThis.Error];\n',
      }),
      [],
    );
  });

  it('finds modules with side effects in pure files, and follows what they import', () => {
    for (const from of ['node:fs', 'node:path', 'node:timers', 'undici']) {
      assert.match(
        told(
          checkSources([
            {
              path: 'dataplane/protocol/x.ts',
              text: `import { x } from '${from}';\nexport const y = x;\n`,
            },
          ]),
          ['purity'],
        ).join(),
        /imports/,
      );
    }
    assert.match(
      one({
        'contract/usage/tables.ts': `import { DatabaseSync } from 'node:sqlite';\nexport const y = DatabaseSync;\n`,
      }),
      /imports node:sqlite/,
      'the contract opens no file',
    );
    assert.match(
      one({
        'dataplane/protocol/x.ts': `import { randomBytes, createHash } from 'node:crypto';\nexport const y = [randomBytes, createHash];\n`,
      }),
      /imports node:crypto/,
    );
    assert.deepEqual(
      check({
        'dataplane/protocol/x.ts':
          `import { Buffer } from 'node:buffer';\nimport { createHash ` +
          `} from 'node:crypto';\nexport const y = [Buffer, createHash];\n`,
      }),
      [],
    );
    assert.match(
      one({
        'dataplane/state/compile.ts': `import { x } from '../upstream/upstream.ts';\nexport const y = x;\n`,
        'dataplane/upstream/upstream.ts': 'export const x = Date.now();\n',
      }),
      /upstream\.ts:1 \[purity\] uses Date\.now \(drawn in by the pure dataplane\/state\/compile\.ts\)/,
    );
  });

  it('finds wiring outside of the command line', () => {
    assert.match(
      check({
        'dataplane/server/app.ts': `import { startDataplane } from '../../programs/dataplane.ts';\nexport const x = startDataplane;\n`,
      }).join(),
      /\[wiring\]/,
    );
    assert.match(one({ 'dataplane/upstream/client.ts': 'export const x = process.env;\n' }), /\[wiring\] process/);
    assert.deepEqual(
      check({
        'bin/main.ts':
          `import { startDataplane } from '../programs/dataplane.ts';\nexport const x ` +
          `= [startDataplane, process.env];\n`,
      }),
      [],
    );
  });

  const privateParts: [text: string, found: RegExp][] = [
    [
      `import connect from 'undici/lib/core/connect.js';\nexport const x = connect;`,
      /from inside a package: undici\/lib\/core\/connect\.js/,
    ],
    [
      `import type { X } from '@grpc/grpc-js/build/src/call.js';\nexport type Y = X;`,
      /from inside a package: @grpc\/grpc-js/,
    ],
    [`export const x = (): Promise<unknown> => import('pino/lib/tools.js');`, /from inside a package: pino/],
    [
      `import { createRequire } from 'node:module';\nexport const x: unknown = ` +
        `createRequire(import.meta.url)('undici/lib/x.js');`,
      /createRequire/,
    ],
    [
      `import { createRequire } from 'node:module';\nconst load = createRequire(import.meta.url);\nexport const x: ` +
        `unknown = load('pino');`,
      /createRequire/,
    ],
    ['export const x = (socket: object): symbol[] => Object.getOwnPropertySymbols(socket);', /symbols of an object/],
    [`export const x = Symbol.for('undici.globalDispatcher.1');`, /symbol "undici/],
    ['export const x = (name: string): symbol => Symbol.for(name);', /looks up the symbol "name"/],
    [
      `export const x = (app: { server: Server }): unknown => app.server.removeAllListeners('request');`,
      /by removeAllListeners/,
    ],
    [`export const x = (server: Server): unknown => server['removeAllListeners']();`, /by removeAllListeners/],
    [
      'export const x = (server: Server, f: () => void): unknown => server?.removeListener("request", f);',
      /by removeListener/,
    ],
    [
      'export const x = (server: Server, f: () => void): unknown => server.prependListener("request", f);',
      /before the server's own/,
    ],
    [
      'export const x = (): unknown => Object.defineProperty(Pool.prototype, "closed", { value: false });',
      /property on Pool\.prototype/,
    ],
    [
      'export class K extends Pool { static { Object.defineProperties(this.prototype, {}); } }',
      /property on this\.prototype/,
    ],
    [
      'export const x = (): unknown => Reflect.defineProperty(http.Server.prototype, "x", {});',
      /property on http\.Server\.prototype/,
    ],
  ];
  for (const [text, found] of privateParts) {
    it(`finds private parts in: ${text}`, () => {
      const violations = told(checkSources([{ path: 'dataplane/upstream/x.ts', text: `${text}\n` }]), ['private']);
      assert.equal(violations.length, 1, violations.join('\n'));
      assert.match(violations[0] ?? '', found);
    });
  }

  it('accepts public parts', () => {
    const text = `import { BinaryReader } from '@bufbuild/protobuf/wire';
      export class K { [Symbol.for('nodejs.util.inspect.custom')](): string { return 'K'; } }
      export const x = (socket: Socket, object: object, f: () => void): unknown => [
        BinaryReader, socket.off('close', f), socket.prependListener('close', f),
        Object.defineProperty(object, 'x', {}),
      ];`;
    assert.deepEqual(told(checkSources([{ path: 'contract/snapshot/x.ts', text }]), ['private']), []);
  });

  it('finds any without a reason', () => {
    assert.match(one({ 'dataplane/upstream/client.ts': 'export const x = (y: any): unknown => y;\n' }), /\[any\]/);
    assert.match(
      one({
        'dataplane/upstream/client.ts':
          '// oxlint-disable-next-line typescript/no-explicit-any\nexport const x = (y: any): unknown => y;\n',
      }),
      /\[any\]/,
    );
    assert.deepEqual(
      check({
        'dataplane/upstream/client.ts':
          '// oxlint-disable-next-line typescript/no-explicit-any ' +
          '-- the library says any\nexport const x = (y: any): unknown => y;\n',
      }),
      [],
    );
  });
});
