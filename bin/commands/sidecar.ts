/** `mgw sidecar`: runs a proxy next to an app, which adds the pod's key. `mgw dataplane --sidecar` is an alias. */
import { Command } from 'commander';
import type { SidecarFlags } from '../run/sidecar.ts';
import { flag, logLevelFlag, paragraphs, parseAddress } from '../options.ts';

export function sidecarCommand(ended: (exitCode: number) => void): Command {
  return new Command('sidecar')
    .summary("a proxy beside an app: adds the pod's key and forwards to the fleet")
    .description(
      paragraphs(
        "Takes an app's calls on the pod's own loopback address, puts the pod's key in the place of whatever " +
          'credential they carry, and forwards them to the fleet. The key is read from a file, and anew whenever that ' +
          "changes. Ready (readyz) while there is a key. The operator's webhook puts it into pods: docs/guides/sidecar.md.",
        'SIGTERM or SIGINT: running calls end, exit code 0; a second signal ends at once with 1.',
        'Every flag may be given as the environment variable that stands beside it.',
      ),
    )
    .addOption(
      flag(
        '--fleet <URL>',
        'where the fleet is, such as https://model-gateway-tls.model-gateway.svc',
      ).makeOptionMandatory(),
    )
    .addOption(
      flag(
        '--fleet-ca <FILE>',
        "the authorities that the fleet's certificate is checked with, a file or " +
          'the PEM itself (default: those of Node.js)',
      ),
    )
    .addOption(flag('--insecure-fleet', 'allow a fleet without TLS: whoever sees the traffic has the key'))
    .addOption(
      flag('--key-file <FILE>', 'the file with the key').default('/var/run/secrets/modelgateway.dev/key/apiKey'),
    )
    .addOption(
      flag('--listen <ADDRESS>', 'where the app calls')
        .default({ host: '127.0.0.1', port: 4000 }, '127.0.0.1:4000')
        .argParser(parseAddress),
    )
    .addOption(
      flag('--admin <ADDRESS>', 'where healthz, readyz, metrics and config_dump are')
        .default({ host: '127.0.0.1', port: 4001 }, '127.0.0.1:4001')
        .argParser(parseAddress),
    )
    .addOption(logLevelFlag())
    .action(async (flags: SidecarFlags) => {
      const { runSidecar } = await import('../run/sidecar.ts');
      ended(await runSidecar(flags));
    });
}

/**
 * Rewrites `dataplane --sidecar` (or MGW_SIDECAR) to `sidecar`, because the sidecar's flags differ from those of a
 * proxy.
 */
export function asSidecar(argv: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
  const [node, program, command, ...rest] = argv;
  if (command !== 'dataplane' || (!rest.includes('--sidecar') && env['MGW_SIDECAR'] === undefined)) return argv;
  return [node ?? '', program ?? '', 'sidecar', ...rest.filter((each) => each !== '--sidecar')];
}
