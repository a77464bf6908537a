/**
 * The arguments in the chart are valid for the programs' command lines: flags, environment variables and their values.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { dataplaneCommand } from '../../../bin/commands/dataplane.ts';
import { operatorCommand } from '../../../bin/commands/operator.ts';
import { needHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { podTemplates, readSituations, renderAll } from './situations.ts';

const helm = await needHelm();
const situations = await readSituations();
const COMMANDS = { operator: operatorCommand, dataplane: dataplaneCommand } as const;

/** The values that Kubernetes would insert for references and for $(NAME). */
function environmentOf(container: Rendered): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env) {
    entries[name] =
      value?.replace(/\$\((\w+)\)/g, (_: string, other: string) => entries[other] ?? '') ??
      (valueFrom.secretKeyRef
        ? 'valkey://user:password@host:6379'
        : { 'status.podIP': '10.0.0.7', 'metadata.name': 'pod-1' }[valueFrom.fieldRef.fieldPath as string]);
  }
  return entries;
}

/** Parses the options as the program does; throws for a usage error. */
function parsed(
  name: keyof typeof COMMANDS,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const command = COMMANDS[name](() => assert.fail('it ran'))
    .action(() => {
      /* only its options are wanted */
    })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  const known = command.options.map(({ envVar }) => envVar);
  for (const variable of Object.keys(env))
    if (variable.startsWith('MGW_')) assert.ok(known.includes(variable), `mgw ${name} has no ${variable}`);
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    return command.parse([...args], { from: 'user' }).opts();
  } finally {
    for (const variable of Object.keys(env)) if (!(variable in before)) delete process.env[variable];
  }
}

describe.skipIf(helm.skip)("every container's flags", () => {
  for (const situation of situations)
    it(situation.name, async () => {
      const pods = podTemplates(await renderAll(helm, situation)).map(({ template }) => template.spec);
      const containers = pods.flatMap((spec) => spec.containers as Rendered[]);
      const accountOf = (name: string): unknown =>
        pods.find((spec) => spec.containers[0].name === name)?.serviceAccountName;
      const options: Record<string, Record<string, unknown>> = {};
      for (const { name, args, ...container } of containers) {
        if (name !== 'operator' && name !== 'dataplane') continue;
        assert.equal(args[0], name);
        options[name] = parsed(name, args.slice(1), environmentOf(container));
        assert.equal((options[name]['ledger'] as { kind: string }).kind, 'valkey');
      }
      const { operator = {}, dataplane = {} } = options;
      assert.deepEqual(dataplane['xds'], [
        `${String(operator['xdsName'])}:${(operator['xdsListen'] as { port: number }).port}`,
      ]);
      assert.deepEqual(
        [operator['xdsProxies'], operator['xdsOperators']],
        [[accountOf('dataplane')], [accountOf('operator')]],
      );
      assert.match(String(operator['advertise']), /^(?:10\.0\.0\.7|\[10\.0\.0\.7\]):18000$/);
    });

  it('an unknown flag is found', () => {
    assert.throws(() => parsed('operator', ['--admins', ':9090'], {}), /unknown option '--admins'/);
    assert.throws(() => parsed('dataplane', ['--xds', 'a:1'], { MGW_LEDGR: 'x' }), /has no MGW_LEDGR/);
    assert.throws(() => parsed('dataplane', ['--xds', 'a:1', '--max-body', 'much'], {}), /must be a size/);
  });
});
