/** `mgw sidecar`: runs a proxy next to an app, which adds the pod's key. `mgw dataplane --sidecar` is an alias. */
import { Command } from 'commander';
import type { SidecarFlags } from '../run/sidecar.ts';
import { EACH_FLAG, STOP_SIGNALS, flag, logLevelFlag, paragraphs, parseAddress } from '../options.ts';

export function sidecarCommand(ended: (exitCode: number) => void): Command {
  return new Command('sidecar')
    .summary('run a proxy next to an app, which adds the key of the pod')
    .description(
      paragraphs(
        'Listens for the calls of an app on the loopback address of the pod, replaces their credential with ' +
          'the key of the pod, and forwards them to the fleet. The key is read from a file, and again when the ' +
          'file changes. The sidecar is ready while it has a key. The webhook of the operator injects it into ' +
          'pods: docs/guides/sidecar.md.',
        STOP_SIGNALS,
        EACH_FLAG,
      ),
    )
    .addOption(
      flag(
        '--fleet <URL>',
        'URL of the fleet, such as https://model-gateway-tls.model-gateway.svc',
      ).makeOptionMandatory(),
    )
    .addOption(
      flag(
        '--fleet-ca <FILE>',
        'CA certificates of the fleet, as a file or as PEM text (default: the CA certificates of Node.js)',
      ),
    )
    .addOption(flag('--insecure-fleet', 'allow an http URL for the fleet; the key is then sent unencrypted'))
    .addOption(flag('--key-file <FILE>', 'file with the key').default('/var/run/secrets/modelgateway.dev/key/apiKey'))
    .addOption(
      flag('--listen <ADDRESS>', 'address for calls of the app')
        .default({ host: '127.0.0.1', port: 4000 }, '127.0.0.1:4000')
        .argParser(parseAddress),
    )
    .addOption(
      flag('--admin <ADDRESS>', 'address for healthz, readyz, metrics and config_dump')
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
