/** `mgw operator`: runs the control plane of a cluster. */
import { Command } from 'commander';
import type { OperatorFlags } from '../run/operator.ts';
import {
  EACH_FLAG,
  adminFlag,
  flag,
  kubeconfigFlag,
  logLevelFlag,
  paragraphs,
  parseAddress,
  parseBytes,
  parseConsoleUrl,
  parseLedger,
  parseNamespace,
  parseNamespaces,
  parseOrigin,
  parseServiceAccounts,
  trustedProxiesFlag,
  usageLabelsFlag,
} from '../options.ts';

export function operatorCommand(ended: (exitCode: number) => void): Command {
  return new Command('operator')
    .summary('run the control plane of a cluster, which configures the proxies')
    .description(
      paragraphs(
        'Reads Accounts, ApiKeys, Groups, ModelRoutes and PriceCatalogs from a Kubernetes API server, ' +
          'configures the proxies (mgw dataplane) over xDS, generates keys, and reports in the status of each ' +
          'object whether the proxies have applied it.',
        'Several replicas can run: all of them serve proxies, and the leader writes to the API server. On ' +
          'SIGTERM, another replica takes over the lead at once; the proxies keep their configuration.',
        `${EACH_FLAG} docs/guides/kubernetes.md has the manifests and the required RBAC rules.`,
      ),
    )
    .addOption(kubeconfigFlag())
    .addOption(
      flag(
        '--namespace <NAME>',
        'namespace of the gateway (default: the namespace of the pod, or model-gateway)',
      ).argParser(parseNamespace),
    )
    .addOption(
      flag(
        '--watch-namespaces <NAMES>',
        'comma-separated namespaces to watch, besides the namespace of the gateway (default: all)',
      ).argParser(parseNamespaces),
    )
    .addOption(usageLabelsFlag())
    .addOption(
      flag(
        '--namespace-memory <BYTES>',
        'memory for the objects of one namespace, such as 25MiB; the namespace of the gateway has no limit ' +
          '(default: a tenth of the heap)',
      ).argParser(parseBytes),
    )
    .addOption(
      flag('--xds-listen <ADDRESS>', 'address for proxies (xDS)')
        .default({ host: '0.0.0.0', port: 18_000 }, ':18000')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--xds-name <NAME>',
        'DNS name of the xDS server, for its certificate (default: model-gateway-operator.NAMESPACE.svc)',
      ),
    )
    .addOption(flag('--insecure-xds', 'serve xDS without TLS and without tokens; only on a loopback address'))
    .addOption(
      flag('--token-file <FILE>', 'file with the token that a replica sends to the leader').default(
        '/var/run/secrets/modelgateway.dev/xds/token',
      ),
    )
    .addOption(
      flag(
        '--xds-proxies <NAMES>',
        'comma-separated ServiceAccounts in the namespace of the gateway that may fetch the configuration, ' +
          "which contains providers' credentials",
      )
        .default(['model-gateway-dataplane'], 'model-gateway-dataplane')
        .argParser(parseServiceAccounts),
    )
    .addOption(
      flag(
        '--xds-operators <NAMES>',
        'comma-separated ServiceAccounts in the namespace of the gateway that other replicas run as',
      )
        .default(['model-gateway-operator'], 'model-gateway-operator')
        .argParser(parseServiceAccounts),
    )
    .addOption(
      flag(
        '--proxies-service <NAME>',
        'Service that selects the pods of all proxies; statuses then name ready proxies that are not connected ' +
          '(default: statuses count connected proxies only)',
      ),
    )
    .addOption(
      flag(
        '--advertise <HOST:PORT>',
        'address at which other replicas reach --xds-listen of this one; required with several replicas',
      ),
    )
    .addOption(adminFlag())
    .addOption(
      flag(
        '--ledger <URL>',
        'ledger of the fleet, valkey://HOST:PORT, to show spending in statuses (default: statuses show no ' +
          'spending)',
      ).argParser(parseLedger),
    )
    .addOption(flag('--lease-name <NAME>', 'name of the Lease for leader election').default('model-gateway-operator'))
    .addOption(
      flag('--identity <NAME>', 'name of this replica in the Lease (default: the hostname and a random suffix)'),
    )
    .addOption(
      flag(
        '--envoy-xds-listen <ADDRESS>',
        'address for the xDS of Envoys in front of the fleet (default: none); see docs/guides/envoy.md',
      ).argParser(parseAddress),
    )
    .addOption(
      flag(
        '--edge-service <NAME>',
        'Service to which Envoys send calls; health checks use its port "admin" if there is one',
      ).default('model-gateway'),
    )
    .addOption(
      flag('--edge-listen <ADDRESS>', 'address on which Envoys listen for SDKs')
        .default({ host: '0.0.0.0', port: 8080 }, ':8080')
        .argParser(parseAddress),
    )
    .addOption(
      flag('--edge-tls <DIR>', 'folder on the host of Envoy with tls.crt and tls.key for SDKs (default: plain HTTP)'),
    )
    .addOption(
      flag(
        '--webhook-listen <ADDRESS>',
        'address of the sidecar webhook (default: none); see docs/guides/sidecar.md',
      ).argParser(parseAddress),
    )
    .addOption(
      flag(
        '--webhook-name <NAME>',
        'DNS name of the sidecar webhook, for its certificate (default: model-gateway-webhook.NAMESPACE.svc)',
      ),
    )
    .addOption(
      flag(
        '--webhook-configuration <NAME>',
        'MutatingWebhookConfiguration to write caBundle to (default: model-gateway-sidecar.NAMESPACE)',
      ),
    )
    .addOption(
      flag(
        '--sidecar-settings <JSON>',
        'settings of all sidecars: {"image": …, "imagePullPolicy", "fleet", "logLevel", "ipv6", "resources", ' +
          '"securityContext", "env"}; only image is required',
      ),
    )
    .addOption(
      flag('--console <ADDRESS>', 'address of the console (default: none); see docs/guides/console.md').argParser(
        parseAddress,
      ),
    )
    .addOption(
      flag(
        '--console-proxy-header <NAME>',
        "header in which an authenticating proxy in front of the console passes the user's token (default: " +
          'users sign in with a token)',
      ).choices(['authorization', 'x-forwarded-access-token']),
    )
    .addOption(trustedProxiesFlag())
    .addOption(flag('--console-tls <DIR>', 'folder with tls.crt and tls.key for the console (default: plain HTTP)'))
    .addOption(
      flag(
        '--console-data <DIR>',
        "folder for the console's copy of usage records, to keep it over restarts (default: a temporary file)",
      ),
    )
    .addOption(
      flag(
        '--console-url <URL>',
        'public URL of the console; if it has a path, the console is served under that path',
      ).argParser(parseConsoleUrl),
    )
    .addOption(flag('--console-gateway-url <URL>', 'URL for SDKs, for examples in the console').argParser(parseOrigin))
    .addOption(logLevelFlag())
    .action(async (flags: OperatorFlags) => {
      const { runOperator } = await import('../run/operator.ts');
      ended(await runOperator(flags));
    });
}
