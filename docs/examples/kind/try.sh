#!/usr/bin/env bash
# Model Gateway in a cluster of kind: builds the image, loads it, installs both charts with the demo provider, tests the
# release and makes the first call. Run it again after a change: the cluster is kept. docs/tutorials/kind.md explains it.
#   try.sh         create the cluster, or update it
#   try.sh down    delete it
set -euo pipefail

cluster=${KIND_CLUSTER:-model-gateway}
namespace=model-gateway
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
image=model-gateway:$(sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$root/charts/model-gateway/Chart.yaml")

for program in docker kind kubectl helm curl; do
  if ! command -v "$program" > /dev/null; then
    echo "$program is not on the PATH; docs/tutorials/kind.md says what is needed" >&2
    exit 1
  fi
done

if [ "${1:-up}" = down ]; then
  kind delete cluster --name "$cluster"
  exit
elif [ "${1:-up}" != up ]; then
  echo "usage: $0 [up|down]" >&2
  exit 64
fi

echo "== the image $image"
docker build --tag "$image" "$root"

echo "== the cluster $cluster"
if ! kind get clusters | grep --quiet --line-regexp "$cluster"; then
  kind create cluster --name "$cluster" --wait 180s
fi
kind load docker-image "$image" --name "$cluster"
# The commands of Helm's notes use kubectl's current context.
kubectl config use-context "kind-$cluster"

echo "== the charts"
helm upgrade --install model-gateway-crds "$root/charts/model-gateway-crds"
helm upgrade --install model-gateway "$root/charts/model-gateway" --namespace "$namespace" --create-namespace \
  --reset-then-reuse-values --set demo.enabled=true --set image.pullPolicy=Never \
  --set dataplane.autoscaling.minReplicas=2 --wait --timeout 10m
# An image of the same name may have been loaded before: its pods would stay.
kubectl rollout restart deployment --namespace "$namespace"
kubectl rollout status deployment/model-gateway-operator --namespace "$namespace" --timeout 5m
kubectl rollout status deployment/model-gateway --namespace "$namespace" --timeout 5m
helm test model-gateway --namespace "$namespace" --logs

echo "== the first call"
commands=$(helm get notes model-gateway --namespace "$namespace" | sed -n '/^kubectl wait --for condition=Available /,$p')
if [ -z "$commands" ]; then
  echo "the notes of the release have no first call" >&2
  exit 1
fi
# The notes leave a port forwarded in the background, which ends with this shell.
bash -euo pipefail -c "trap 'kill \$(jobs -p) 2> /dev/null || true' EXIT
$commands"
