"""K-means of scikit-learn-intelex on shared memory: NumPy writes the points, and oneDAL reads the same bytes.

With dispatch, scikit-learn-intelex computes where its arguments are. It knows USM arrays of dpnp, so the points go
through `dpnp.from_dlpack`, which copies nothing, and the centres come back by `usm.tensor.asarray`, without a copy.

Needs a SYCL device, dpnp and scikit-learn-intelex:

    pip install "$wheel[sycl-cpu,dpnp]" scikit-learn-intelex scikit-learn-intelex-gpu
    python examples/kmeans.py
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn dispatches only where SciPy does, which looks at its first import

import dpnp
import numpy as np
from sklearnex import config_context
from sklearnex.cluster import KMeans

import usm
import usm.tensor as ut

CENTRES = np.array([[0, 0], [6, 0], [3, 5]], "float32")
PER_CLUSTER = 500


def main():
    device = next(device for device in usm.get_devices() if device.backend not in ("host", "cuda"))
    points = ut.empty((3 * PER_CLUSTER, 2), dtype="float32", usm_type="shared", device=device)
    of_numpy, of_dpnp = np.asarray(points), dpnp.from_dlpack(points)
    print("one address:", of_numpy.ctypes.data == of_dpnp.get_array()._pointer == points._pointer)
    noise = np.random.default_rng(1).normal(scale=0.4, size=of_numpy.shape)
    of_numpy[...] = np.repeat(CENTRES, PER_CLUSTER, axis=0) + noise

    with config_context(array_api_dispatch=True):
        model = KMeans(n_clusters=3, n_init=1, init="k-means++", random_state=0).fit(of_dpnp)
        labels = ut.asarray(model.predict(of_dpnp))
    centres = ut.asarray(model.cluster_centers_)
    print("the centres are in", centres.usm_type, "memory of the device:", centres.sycl_device == device)

    # `usm` computes on what came back: the points of each cluster, and how far they are from their centre.
    for x, y, label in sorted((round(x), round(y), label) for label, (x, y) in enumerate(centres.tolist())):
        own = points[labels == label]
        distance = float(ut.linalg.vector_norm(own - centres[label], axis=1).mean())
        print(f"cluster near ({x}, {y}): {own.shape[0]} points, {distance:.1f} from the centre on average")


if __name__ == "__main__":
    main()
